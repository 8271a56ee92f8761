import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { FlvOutput } from '../preview/flv-output.ts'
import { withDataFrame } from '../preview/flv-tag.ts'
import { Backoff } from '../relay/backoff.ts'
import type { RelayLimits } from '../relay/limits.ts'
import { Source } from '../relay/source.ts'
import { AUDIO, classify, DATA, readMetadata, VIDEO } from '../rtmp/flv.ts'
import type { MediaLog, MediaMessage, Rendering, RenderingStatus } from '../types.ts'
import { FlvReader, type FlvTag } from '../rtmp/flv-reader.ts'
import { renderArguments } from './arguments.ts'
import { SpeedMeter } from './speed-meter.ts'

/** How many may run at the same time on this node. */
export interface TranscodeSlots {
  used: number
  readonly most: number
}

export interface TranscodeOptions {
  readonly rendering: Rendering
  readonly from: Source
  readonly limits: Pick<RelayLimits, 'group' | 'queue'>
  /** Path of ffmpeg; undefined where there is none. */
  readonly ffmpeg: string | undefined
  readonly slots: TranscodeSlots
  readonly log: MediaLog
}

const BACKOFF = { baseMs: 500, maxMs: 10_000 }
const STEADY_MS = 30_000
/** Nothing comes out although it was started this long ago: it hangs. */
const SILENT_MS = 10_000
const MOST_SAID = 500

/**
 * A source in another form: one ffmpeg, kept running as long as it is wanted. What it does, and its death, concerns
 * those alone who take this source.
 */
export class Transcode {
  readonly source: Source
  readonly #options: TranscodeOptions
  readonly #backoff = new Backoff(BACKOFF)
  #process: ChildProcessWithoutNullStreams | null = null
  #wanted = false
  #state: RenderingStatus['state'] = 'idle'
  #restarts = 0
  #lastError: string | null = null
  #startedAt = 0
  #heardAt = 0
  #again: NodeJS.Timeout | undefined
  #input: FlvOutput | null = null
  readonly #speed = new SpeedMeter()

  constructor(options: TranscodeOptions) {
    this.#options = options
    this.source = new Source(options.limits.group)
  }

  status(): RenderingStatus {
    const { droppedVideo = 0 } = this.#input ?? {}
    const speed = this.#speed.value
    return { state: this.#state, restarts: this.#restarts, speed, droppedVideo, lastError: this.#lastError }
  }

  /** Runs while there is something to render for somebody. */
  run(wanted: boolean): void {
    if (wanted === this.#wanted) return
    this.#wanted = wanted
    if (wanted) this.#start()
    else this.close()
  }

  /** Another publisher sends: what ffmpeg knows of the one before does not hold. */
  restart(): void {
    if (!this.#wanted) return
    this.#end()
    this.#start()
  }

  tick(now: number): void {
    if (this.#process === null) return
    this.#speed.tick(now)
    if (this.#state === 'running' && now - this.#startedAt >= STEADY_MS) this.#backoff.reset()
    const since = Math.max(this.#heardAt, this.#startedAt)
    if (this.#input?.isFed(now) && now - since >= SILENT_MS) this.#fail('ffmpeg gives nothing out')
  }

  close(): void {
    this.#wanted = false
    this.#end()
    this.#state = 'idle'
  }

  #start(): void {
    const { ffmpeg, from, limits, log, rendering, slots } = this.#options
    if (ffmpeg === undefined || slots.used >= slots.most) {
      const why = ffmpeg === undefined ? 'ffmpeg is missing on this node' : 'this node renders as much as it may'
      this.#retryLater(why, 'unavailable')
      return
    }
    slots.used += 1
    const child = spawn(ffmpeg, renderArguments(rendering), { stdio: 'pipe', env: {} })
    this.#process = child
    this.#state = 'starting'
    this.#startedAt = performance.now()
    this.source.attach()
    let said = ''
    const reader = new FlvReader((tag) => this.#onTag(child, tag))
    child.stdout.on('data', (bytes: Buffer) => reader.push(bytes))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-MOST_SAID)))
    // That it cannot be written to any more shows as its end.
    child.stdin.on('error', () => {})
    child.once('error', (error) => {
      slots.used -= 1
      if (this.#process === child) this.#fail(error.message)
    })
    child.once('exit', (code, signal) => {
      slots.used -= 1
      if (this.#process !== child) return
      log.warn({ exitCode: code, signal, said }, 'a rendering ended; it is started again')
      this.#fail(said.trim().split('\n').at(-1) || `ffmpeg ended (${signal ?? `code ${code}`})`)
    })
    this.#input = new FlvOutput(from, child.stdin, limits.queue)
  }

  #onTag(child: ChildProcessWithoutNullStreams, tag: FlvTag): void {
    if (child !== this.#process) return
    const message = messageOf(tag)
    if (message === undefined) return
    this.#heardAt = performance.now()
    this.#state = 'running'
    if (message.kind === 'video' && !message.isHeader) this.#speed.picture(message.timestamp, this.#heardAt)
    this.source.push(message, this.#heardAt)
  }

  #fail(why: string): void {
    this.#end()
    this.#restarts += 1
    this.#retryLater(why, 'restarting')
  }

  #retryLater(why: string, state: RenderingStatus['state']): void {
    this.#lastError = why
    this.#state = state
    this.#again = setTimeout(() => this.#start(), this.#backoff.next())
  }

  #end(): void {
    clearTimeout(this.#again)
    this.#speed.reset()
    this.#input?.close()
    this.#input = null
    const child = this.#process
    this.#process = null
    child?.kill('SIGKILL')
  }
}

/** What the relay takes of a tag: configurations, frames and metadata. */
function messageOf({ body, timestamp, type }: FlvTag): MediaMessage | undefined {
  const time = Math.max(0, timestamp)
  if (type === DATA) {
    const isHeader = readMetadata(body) !== null
    return { kind: 'data', timestamp: time, payload: withDataFrame(body), isHeader, isKeyframe: false }
  }
  if (type !== AUDIO && type !== VIDEO) return undefined
  const { isFrame, isHeader, isKeyframe, kind } = classify(type, body)
  return isFrame || isHeader ? { kind, timestamp: time, payload: body, isHeader, isKeyframe } : undefined
}
