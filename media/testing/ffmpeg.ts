import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { toolPath } from '../../test/support/tools.ts'

/** Path of ffmpeg: `FFMPEG_PATH`, or the one of the tests. Programs run without PATH, so a name is not enough. */
export function findFfmpeg(): string {
  return process.env['FFMPEG_PATH'] ?? toolPath('ffmpeg').command
}

/** Runs ffmpeg. @throws Error with its output when it fails */
export async function runFfmpeg(...args: string[]): Promise<void> {
  const child = spawn(findFfmpeg(), ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`ffmpeg ended with ${code}: ${output}`)
}

/** Makes an FLV file with a test picture in H.264 and a tone in AAC. */
export async function makeFlv(file: string, seconds: number): Promise<void> {
  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=640x360:rate=30']
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000']
  const video = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '60', '-b:v', '1M']
  await runFfmpeg(...picture, ...tone, '-t', String(seconds), ...video, '-c:a', 'aac', '-b:a', '96k', '-f', 'flv', file)
}

export interface ClipOptions {
  readonly seconds: number
  /** Frames from one keyframe to the next. */
  readonly group?: number
  /** Consecutive B-frames. */
  readonly bFrames?: number
  readonly size?: string
  /** Output arguments of ffmpeg that override the others, such as another codec. */
  readonly extra?: readonly string[]
}

/** Makes a file with a test picture in H.264 and a tone in AAC. The file name selects the container. */
export async function makeClip(file: string, options: ClipOptions): Promise<void> {
  const { bFrames = 2, extra = [], group = 30, seconds, size = '320x180' } = options
  const picture = ['-f', 'lavfi', '-i', `testsrc=size=${size}:rate=30`]
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000']
  const video = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', String(group)]
  const gop = ['-bf', String(bFrames), '-sc_threshold', '0', '-keyint_min', String(group)]
  const audio = ['-c:a', 'aac', '-ac', '2', '-b:a', '96k']
  await runFfmpeg(...picture, ...tone, '-t', String(seconds), ...video, ...gop, ...audio, ...extra, file)
}

/** Publishes an FLV file without transcoding it, in real time by default. */
export function publishFlv(file: string, url: string, { realTime = true } = {}): Promise<void> {
  return runFfmpeg(
    ...(realTime ? ['-re'] : []),
    '-i',
    file,
    '-c',
    'copy',
    '-f',
    'flv',
    '-flvflags',
    'no_duration_filesize',
    url,
  )
}

/** Path and version of ffmpeg, for the settings of a media node. */
export async function useFfmpeg(): Promise<{ path: string; version: string }> {
  const path = findFfmpeg()
  const child = spawn(path, ['-version'], { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(child, 'close')
  return { path, version: /version (\S+)/.exec(output)?.[1] ?? '' }
}
