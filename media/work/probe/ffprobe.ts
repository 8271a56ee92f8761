import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { INPUT_GUARD } from '../ffmpeg/ffmpeg.ts'
import { failureOf } from '../ffmpeg/failure.ts'
import { hasAlphaFormat, hdrTransfer, quarterTurns, shownSize, type Streams } from './streams.ts'

interface RawStream {
  readonly codec_type?: string
  readonly codec_name?: string
  readonly profile?: string
  readonly width?: number
  readonly height?: number
  readonly sample_aspect_ratio?: string
  readonly avg_frame_rate?: string
  readonly r_frame_rate?: string
  readonly pix_fmt?: string
  readonly color_transfer?: string
  readonly bit_rate?: string
  readonly duration?: string
  readonly channels?: number
  readonly sample_rate?: string
  readonly disposition?: { readonly attached_pic?: number }
  readonly tags?: Readonly<Record<string, string>>
  readonly side_data_list?: readonly { readonly rotation?: number }[]
}

interface Raw {
  readonly streams?: readonly RawStream[]
  readonly format?: { readonly format_name?: string; readonly duration?: string; readonly bit_rate?: string }
}

const MAX_OUTPUT_BYTES = 4 * 2 ** 20
const MAX_PROBE_MS = 120_000

/** @throws MediaWorkError */
export async function ffprobe(command: string, path: string, signal: AbortSignal): Promise<Streams> {
  const entries = ['-show_entries', 'format=format_name,duration,bit_rate', '-show_streams']
  const stdout = await run(command, ['-of', 'json', ...entries, '-i', `file:${path}`], signal)
  return toStreams(JSON.parse(stdout) as Raw)
}

/**
 * The end time of the last packet after a point near the end. Null if there is no packet.
 * @throws MediaWorkError
 */
export async function lastPacketSeconds(
  command: string,
  path: string,
  fromSeconds: number,
  signal: AbortSignal,
): Promise<number | null> {
  const interval = ['-read_intervals', `${fromSeconds.toFixed(3)}%`]
  const entries = ['-show_entries', 'packet=pts_time,duration_time', '-of', 'csv=p=0']
  const stdout = await run(command, [...interval, ...entries, '-i', `file:${path}`], signal)
  const ends = stdout.split('\n').flatMap((line) => {
    const [time, duration] = line.split(',').map(Number)
    return time === undefined || Number.isNaN(time) ? [] : [time + (duration || 0)]
  })
  return ends.length === 0 ? null : Math.max(...ends)
}

async function run(command: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  try {
    const options = { signal, killSignal: 'SIGKILL', timeout: MAX_PROBE_MS, maxBuffer: MAX_OUTPUT_BYTES } as const
    return (await promisify(execFile)(command, ['-v', 'error', ...INPUT_GUARD, ...args], options)).stdout
  } catch (error) {
    signal.throwIfAborted()
    const { stderr = '', message } = error as Error & { stderr?: string }
    throw failureOf(stderr === '' ? message : 'ffprobe failed', stderr.split('\n'))
  }
}

function toStreams({ streams = [], format = {} }: Raw): Streams {
  const video = streams.find((one) => one.codec_type === 'video' && one.disposition?.attached_pic !== 1)
  const audio = streams.find((one) => one.codec_type === 'audio')
  // The display matrix rotates counter-clockwise, the tag of older files clockwise.
  const matrix = video?.side_data_list?.find((data) => data.rotation !== undefined)?.rotation
  const rotation = quarterTurns(matrix === undefined ? Number(video?.tags?.['rotate'] ?? 0) : -matrix)
  const pixelFormat = video?.pix_fmt ?? null
  return {
    format: format.format_name ?? '',
    seconds: number(format.duration) ?? number(video?.duration) ?? number(audio?.duration),
    bitrate: number(format.bit_rate),
    rotation,
    hasAlpha: hasAlphaFormat(pixelFormat),
    video:
      video === undefined
        ? null
        : {
            codec: video.codec_name ?? 'unknown',
            profile: video.profile ?? null,
            ...shownSize(
              { width: video.width ?? 0, height: video.height ?? 0 },
              ratio(video.sample_aspect_ratio) ?? 1,
              rotation,
            ),
            frameRate: ratio(video.avg_frame_rate) ?? ratio(video.r_frame_rate),
            bitrate: number(video.bit_rate),
            pixelFormat,
            hdr: hdrTransfer(video.color_transfer),
          },
    audio:
      audio === undefined
        ? null
        : {
            codec: audio.codec_name ?? 'unknown',
            channels: audio.channels ?? 0,
            sampleRate: number(audio.sample_rate) ?? 0,
            bitrate: number(audio.bit_rate),
          },
  }
}

function number(text: string | undefined): number | null {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) ? value : null
}

/** Parses `30000/1001` or `4:3`. Null for `0/0` and other invalid ratios. */
function ratio(text: string | undefined): number | null {
  const [numerator = Number.NaN, denominator = 1] = (text ?? '').split(/[/:]/).map(Number)
  const value = numerator / denominator
  return Number.isFinite(value) && value > 0 ? value : null
}
