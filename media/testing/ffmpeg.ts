import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { toolPath } from '../../test/support/tools.ts'

/** The path of `FFMPEG_PATH` or of the ffmpeg that tests use. Programs are started without PATH, so a name is not enough. */
export function findFfmpeg(): string {
  return process.env['FFMPEG_PATH'] ?? toolPath('ffmpeg').command
}

/** Runs ffmpeg to its end. @throws Error with what ffmpeg wrote when it fails */
export async function runFfmpeg(...args: string[]): Promise<void> {
  const child = spawn(findFfmpeg(), ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`ffmpeg ended with ${code}: ${said}`)
}

/** Writes a test picture and tone as H.264 and AAC into an FLV file. */
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
  /** Pictures that refer to later ones. */
  readonly bFrames?: number
  readonly size?: string
  /** Arguments of ffmpeg that come last, such as another codec. */
  readonly extra?: readonly string[]
}

/** Writes a test picture and tone as H.264 and AAC into a file, whose name says of what kind. */
export async function makeClip(file: string, options: ClipOptions): Promise<void> {
  const { bFrames = 2, extra = [], group = 30, seconds, size = '320x180' } = options
  const picture = ['-f', 'lavfi', '-i', `testsrc=size=${size}:rate=30`]
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000']
  const video = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', String(group)]
  const order = ['-bf', String(bFrames), '-sc_threshold', '0', '-keyint_min', String(group)]
  const sound = ['-c:a', 'aac', '-ac', '2', '-b:a', '96k']
  await runFfmpeg(...picture, ...tone, '-t', String(seconds), ...video, ...order, ...sound, ...extra, file)
}

/** Publishes an FLV file as it is; at its own pace unless told to hurry. */
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

/** The ffmpeg of the tests, as a media node wants it. */
export async function useFfmpeg(): Promise<{ path: string; version: string }> {
  const path = findFfmpeg()
  const child = spawn(path, ['-version'], { stdio: ['ignore', 'pipe', 'ignore'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  await once(child, 'close')
  return { path, version: /version (\S+)/.exec(said)?.[1] ?? '' }
}
