import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { classify, VIDEO } from '../rtmp/flv.ts'
import { FlvReader } from '../rtmp/flv-reader.ts'
import { slateArguments, type SlateForm } from './arguments.ts'

/** One group of pictures, to be sent again and again; bodies of RTMP messages. */
export interface SlateClip {
  readonly fps: number
  readonly configuration: Buffer
  /** The first one is a keyframe. */
  readonly pictures: readonly Buffer[]
}

/**
 * It takes a second of a core. On a machine with many times the work that it can do that is most of a minute, and it is
 * then that a slate is needed. For the same reason ffmpeg runs with the priority of everything else.
 */
const LONGEST_MS = 60_000
/** Many times what a still picture takes. */
const MOST_BYTES = 4 * 1024 * 1024
const MOST_SAID = 500

/**
 * Renders a picture, or the card where there is none.
 * @throws Error that says what ffmpeg said
 */
export async function renderSlate(
  ffmpeg: string,
  form: SlateForm,
  picture: string | undefined,
  signal: AbortSignal,
): Promise<SlateClip> {
  const child = spawn(ffmpeg, slateArguments(form, picture), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {},
    signal: AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]),
    killSignal: 'SIGKILL',
  })
  let configuration: Buffer | undefined
  const pictures: Buffer[] = []
  let bytes = 0
  let said = ''
  const reader = new FlvReader(({ body, type }) => {
    if (type !== VIDEO) return
    const { isFrame, isHeader } = classify(VIDEO, body)
    if (isHeader) configuration = body
    else if (isFrame) pictures.push(body)
  })
  child.stdout.on('data', (read: Buffer) => {
    bytes += read.length
    if (bytes > MOST_BYTES) child.kill('SIGKILL')
    else reader.push(read)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-MOST_SAID)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code === 0 && configuration !== undefined && pictures.length > 0)
    return { fps: form.fps, configuration, pictures }
  throw new Error(said.trim().split('\n').at(-1) || `ffmpeg ended (code ${code})`)
}
