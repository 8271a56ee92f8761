import { execFile } from 'node:child_process'
import { INPUT_GUARD } from '../ffmpeg/ffmpeg.ts'
import { failureOf } from '../ffmpeg/failure.ts'
import { hasAlphaFormat, hdrTransfer, quarterTurns, shownSize, type Streams } from './streams.ts'

/**
 * The results of ffprobe from the text output of `ffmpeg -i`, for installations without ffprobe. They are less exact: times
 * to a hundredth of a second, bitrates to one kbit/s.
 */

const MAX_OUTPUT_BYTES = 2 ** 20
const MAX_PROBE_MS = 120_000
const LAYOUTS: Readonly<Record<string, number>> = {
  mono: 1,
  stereo: 2,
  '2.1': 3,
  quad: 4,
  '5.0': 5,
  '5.1': 6,
  '7.1': 8,
}

/** @throws MediaWorkError */
export async function ffmpegInfo(command: string, path: string, signal: AbortSignal): Promise<Streams> {
  return parseInfo(await describeInput(command, path, signal))
}

/** The description of a file that `ffmpeg -i` prints. @throws MediaWorkError */
export async function describeInput(command: string, path: string, signal: AbortSignal): Promise<string> {
  const options = { signal, killSignal: 'SIGKILL', timeout: MAX_PROBE_MS, maxBuffer: MAX_OUTPUT_BYTES } as const
  const args = ['-hide_banner', '-nostdin', ...INPUT_GUARD, '-i', `file:${path}`]
  const text = await new Promise<string>((resolve, reject) => {
    // ffmpeg always exits with 1, because there is no output.
    execFile(command, args, options, (error, _stdout, stderr) => {
      if (stderr === '' && error !== null) reject(signal.aborted ? signal.reason : failureOf(error.message, []))
      else resolve(stderr)
    })
  })
  signal.throwIfAborted()
  if (!text.includes('Input #0')) throw failureOf('ffmpeg failed', text.split('\n'))
  return text
}

/** Parses the description of the input that ffmpeg prints. */
export function parseInfo(text: string): Streams {
  const [, format = ''] = /^Input #0, (.+?), from /m.exec(text) ?? []
  const [, hours, minutes, seconds] = /^ {2}Duration: (\d+):(\d+):([\d.]+)/m.exec(text) ?? []
  const [, kilobits] = /^ {2}Duration:.*bitrate: (\d+) kb\/s/m.exec(text) ?? []
  const streams = text.split(/^ +(?=Stream #0:\d+)/m).slice(1)
  const video = streams.find((one) => / Video: /.test(one) && !one.includes('(attached pic)'))
  const audio = streams.find((one) => / Audio: /.test(one))
  const rotation = quarterTurns(-Number(/rotation of (-?[\d.]+) degrees/.exec(video ?? '')?.[1] ?? 0))
  const videoTrack = video === undefined ? null : parseVideo(video, rotation)
  return {
    format,
    seconds: hours === undefined ? null : Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds),
    bitrate: kilobits === undefined ? null : Number(kilobits) * 1000,
    rotation,
    hasAlpha: hasAlphaFormat(videoTrack?.pixelFormat ?? null),
    video: videoTrack,
    audio: audio === undefined ? null : parseAudio(audio),
  }
}

function parseVideo(stream: string, rotation: number): Streams['video'] {
  const [line = ''] = stream.split('\n')
  const [, codec = 'unknown', profile] = / Video: (\w+)(?: \(([^)/]+)\))?/.exec(line) ?? []
  const [, width = '0', height = '0'] = /, (\d{1,6})x(\d{1,6})/.exec(line) ?? []
  const [, numerator = '1', denominator = '1'] = /\bSAR (\d+):(\d+)/.exec(line) ?? []
  const [, pixelFormat] = / Video: [^,]*, (\w+)/.exec(line.replaceAll(/\([^()]*\)/g, '')) ?? []
  const [, rate] = /, ([\d.]+k?) (?:fps|tbr)/.exec(line) ?? []
  return {
    codec,
    profile: profile ?? null,
    ...shownSize({ width: Number(width), height: Number(height) }, Number(numerator) / Number(denominator), rotation),
    frameRate: rate === undefined ? null : Number.parseFloat(rate) * (rate.endsWith('k') ? 1000 : 1),
    bitrate: kilobits(line),
    pixelFormat: pixelFormat ?? null,
    hdr: hdrTransfer(line),
  }
}

function parseAudio(stream: string): Streams['audio'] {
  const [line = ''] = stream.split('\n')
  const [, codec = 'unknown'] = / Audio: (\w+)/.exec(line) ?? []
  const [, rate = '0', layout = ''] = /, (\d+) Hz, ([\w.]+)/.exec(line) ?? []
  const [, channels] = /, (\d+) channels/.exec(line) ?? []
  return {
    codec,
    channels: channels === undefined ? (LAYOUTS[layout] ?? 0) : Number(channels),
    sampleRate: Number(rate),
    bitrate: kilobits(line),
  }
}

function kilobits(line: string): number | null {
  const [, rate] = /, (\d+) kb\/s/.exec(line) ?? []
  return rate === undefined ? null : Number(rate) * 1000
}
