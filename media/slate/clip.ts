import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { classify, VIDEO } from '../rtmp/flv.ts'
import { FlvReader } from '../rtmp/flv-reader.ts'
import { slateArguments, type SlateFormat } from './arguments.ts'

/** One GOP that is sent in a loop. Buffers are bodies of RTMP messages. */
export interface SlateClip {
  readonly fps: number
  readonly configuration: Buffer
  /** The first one is a keyframe. */
  readonly frames: readonly Buffer[]
}

/**
 * Rendering takes a second of one core, and most of a minute on an overloaded machine. Publishers often disconnect while a
 * machine is overloaded, so a slate is needed then. For the same reason ffmpeg runs at normal priority.
 */
const TIMEOUT_MS = 60_000
/** Many times the size of a clip of a still picture. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_STDERR_LENGTH = 500

/**
 * Renders a picture, or the card if `picture` is undefined.
 * @throws Error with the last line of ffmpeg's stderr
 */
export async function renderSlate(
  ffmpeg: string,
  format: SlateFormat,
  picture: string | undefined,
  signal: AbortSignal,
): Promise<SlateClip> {
  const child = spawn(ffmpeg, slateArguments(format, picture), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {},
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    killSignal: 'SIGKILL',
  })
  let configuration: Buffer | undefined
  const frames: Buffer[] = []
  let receivedBytes = 0
  let stderr = ''
  const reader = new FlvReader(({ body, type }) => {
    if (type !== VIDEO) return
    const { isFrame, isSequenceHeader } = classify(VIDEO, body)
    if (isSequenceHeader) configuration = body
    else if (isFrame) frames.push(body)
  })
  child.stdout.on('data', (bytes: Buffer) => {
    receivedBytes += bytes.length
    if (receivedBytes > MAX_BYTES) child.kill('SIGKILL')
    else reader.push(bytes)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-MAX_STDERR_LENGTH)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code === 0 && configuration !== undefined && frames.length > 0) return { fps: format.fps, configuration, frames }
  throw new Error(stderr.trim().split('\n').at(-1) || `ffmpeg ended (code ${code})`)
}
