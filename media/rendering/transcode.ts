import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { FlvOutput } from '../preview/flv-output.ts'
import { withDataFrame } from '../preview/flv-tag.ts'
import { OutputWatch } from '../output-watch.ts'
import { Backoff } from '../relay/backoff.ts'
import type { RelayLimits } from '../relay/limits.ts'
import type { RelayMessage } from '../relay/relay-message.ts'
import { Source, type Output } from '../relay/source.ts'
import { AUDIO, classify, DATA, readMetadata, VIDEO } from '../rtmp/flv.ts'
import type { MediaLog, MediaMessage, Rendering, RenderingStatus } from '../types.ts'
import { FlvReader, type FlvTag } from '../rtmp/flv-reader.ts'
import { renderArguments } from './arguments.ts'
import type { FfmpegProgram } from '../whip/transcode/ffmpeg-args.ts'
import { formAfter, isSameForm, UNKNOWN_FORM, unreadable, type StreamForm } from './form.ts'
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
  /** Undefined where there is none. */
  readonly ffmpeg: FfmpegProgram | undefined
  readonly slots: TranscodeSlots
  readonly log: MediaLog
}

const BACKOFF = { baseMs: 500, maxMs: 10_000 }
const STEADY_MS = 30_000
/** How long ffmpeg may be fed and give nothing out, milliseconds. Pictures take more of the machine than sound does. */
const HANG = { firstMs: 10_000, silentMs: 5_000 } as const
const MOST_SAID = 500
/** How long the sound of another publisher is waited for: ffmpeg gives nothing out without the sound that it began with. */
const SOUND_PATIENCE_MS = 2_000

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
  #watch = new OutputWatch(HANG)
  #again: NodeJS.Timeout | undefined
  #input: FlvOutput | null = null
  readonly #speed = new SpeedMeter()
  /** What comes in, and what the process was started for. */
  #form: StreamForm = UNKNOWN_FORM
  #startedFor: StreamForm = UNKNOWN_FORM
  readonly #observer: Output = { write: ({ messages }) => this.#see(messages, performance.now()) }
  /** Since when the sound of another publisher is waited for; null when it is not. */
  #soundDueSince: number | null = null

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
    if (!wanted) {
      this.close()
      return
    }
    const { from } = this.#options
    this.#wanted = true
    this.#form = formAfter(UNKNOWN_FORM, from.replay(0).messages)
    from.add(this.#observer)
    this.#start()
  }

  /** Another publisher sends. The process goes on with it where it sends in the same form. */
  switched(now: number): void {
    this.#soundDueSince = this.#startedFor.audio === null ? null : now
  }

  tick(now: number): void {
    if (this.#process === null) return
    this.#speed.tick(now)
    if (this.#state === 'running' && now - this.#startedAt >= STEADY_MS) this.#backoff.reset()
    if (this.#soundDueSince !== null && now - this.#soundDueSince >= SOUND_PATIENCE_MS && this.#input?.isFed(now)) {
      this.#form = { ...this.#form, audio: null }
      this.#restart()
    }
  }

  close(): void {
    this.#wanted = false
    this.#options.from.remove(this.#observer)
    this.#end()
    this.#state = 'idle'
  }

  #see(messages: readonly RelayMessage[], now: number): void {
    if (this.#input?.isFed(now) && this.#watch.fed(now)) return this.#fail('ffmpeg gives nothing out')
    if (messages.some(({ kind }) => kind === 'audio')) this.#soundDueSince = null
    const form = formAfter(this.#form, messages)
    if (isSameForm(this.#form, form)) return
    this.#form = form
    // The process that is started for it replays this batch: it must not be handed the batch as well.
    queueMicrotask(() => this.#adapt())
  }

  /** The stream comes in another form than before. */
  #adapt(): void {
    if (!this.#wanted || isSameForm(this.#startedFor, this.#form)) return
    const version = this.#options.ffmpeg?.version ?? ''
    // A process that has given nothing out yet takes whatever it can read, and sound that comes a little later.
    const { audio, video } = this.#startedFor
    const isOpen = video === null || (audio === null && isSameForm({ video, audio }, { ...this.#form, audio }))
    const canTake = this.#process !== null && this.#state === 'starting' && isOpen
    if (canTake && unreadable(this.#form, version) === null) this.#startedFor = this.#form
    else this.#restart()
  }

  #restart(): void {
    this.#end()
    this.#lastError = null
    this.#start()
  }

  #start(): void {
    const { ffmpeg, from, limits, log, rendering, slots } = this.#options
    if (ffmpeg === undefined || slots.used >= slots.most) {
      const why = ffmpeg === undefined ? 'ffmpeg is missing on this node' : 'this node renders as much as it may'
      this.#retryLater(why, 'unavailable')
      return
    }
    this.#startedFor = this.#form
    this.#soundDueSince = null
    const refusal = unreadable(this.#form, ffmpeg.version)
    if (refusal !== null) {
      // Trying again is of no use: it is started when another form comes.
      this.#lastError = refusal
      this.#state = 'unavailable'
      return
    }
    slots.used += 1
    const child = spawn(ffmpeg.path, renderArguments(rendering), { stdio: 'pipe', env: {} })
    this.#process = child
    this.#state = 'starting'
    this.#startedAt = performance.now()
    this.#watch = new OutputWatch(HANG)
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
    const now = performance.now()
    this.#watch.heard()
    this.#state = 'running'
    if (message.kind === 'video' && !message.isHeader) this.#speed.picture(message.timestamp, now)
    this.source.push(message, now)
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
