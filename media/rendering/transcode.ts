import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { FlvOutput } from '../preview/flv-output.ts'
import { withDataFrame } from '../preview/flv-tag.ts'
import { OutputWatchdog } from '../output-watchdog.ts'
import { Backoff } from '../relay/backoff.ts'
import type { RelayLimits } from '../relay/limits.ts'
import type { RelayMessage } from '../relay/relay-message.ts'
import { Source, type Output } from '../relay/source.ts'
import { AUDIO, classify, DATA, readMetadata, VIDEO } from '../rtmp/flv.ts'
import type { MediaLog, MediaMessage, Rendering, RenderingStatus } from '../types.ts'
import { FlvReader, type FlvTag } from '../rtmp/flv-reader.ts'
import { renderArguments } from './arguments.ts'
import type { FfmpegProgram } from '../whip/transcode/ffmpeg-args.ts'
import { formatAfter, isSameFormat, UNKNOWN_FORMAT, unsupportedReason, type StreamFormat } from './stream-format.ts'
import { SpeedMeter } from './speed-meter.ts'

/** Counts the encoders of this node, and limits them. */
export interface TranscodeSlots {
  used: number
  readonly max: number
}

export interface TranscodeOptions {
  readonly rendering: Rendering
  readonly input: Source
  readonly limits: Pick<RelayLimits, 'gop' | 'queue'>
  /** Undefined when ffmpeg is missing. */
  readonly ffmpeg: FfmpegProgram | undefined
  readonly slots: TranscodeSlots
  readonly log: MediaLog
}

const BACKOFF = { baseMs: 500, maxMs: 10_000 }
/** After ffmpeg has run for this long, the back-off starts again from the beginning. */
const STABLE_MS = 30_000
/** How long ffmpeg may get input without giving output, milliseconds. */
const HANG = { firstMs: 10_000, silentMs: 5_000 } as const
const MAX_STDERR_LENGTH = 500
/**
 * How long to wait for the audio of another publisher. ffmpeg gives no output while a track that it started with is
 * missing.
 */
const AUDIO_TIMEOUT_MS = 2_000

/**
 * Transcodes one source into another with one ffmpeg, which is restarted when it fails. A failure affects only the
 * destinations that read this rendering.
 */
export class Transcode {
  readonly source: Source
  readonly #options: TranscodeOptions
  readonly #backoff = new Backoff(BACKOFF)
  #process: ChildProcessWithoutNullStreams | null = null
  #running = false
  #state: RenderingStatus['state'] = 'idle'
  #restarts = 0
  #lastError: string | null = null
  #startedAt = 0
  #watchdog = new OutputWatchdog(HANG)
  #restartTimer: NodeJS.Timeout | undefined
  #feed: FlvOutput | null = null
  readonly #speed = new SpeedMeter()
  /** The format of the input. */
  #format: StreamFormat = UNKNOWN_FORMAT
  /** The format that the process was started for. */
  #processFormat: StreamFormat = UNKNOWN_FORMAT
  readonly #observer: Output = { write: ({ messages }) => this.#onMessages(messages, performance.now()) }
  /** Since when the process waits for the audio of another publisher. Null when it does not. */
  #awaitsAudioSince: number | null = null

  constructor(options: TranscodeOptions) {
    this.#options = options
    this.source = new Source(options.limits.gop)
  }

  status(): RenderingStatus {
    const { droppedVideo = 0 } = this.#feed ?? {}
    const speed = this.#speed.value
    return { state: this.#state, restarts: this.#restarts, speed, droppedVideo, lastError: this.#lastError }
  }

  setRunning(running: boolean): void {
    if (running === this.#running) return
    if (!running) {
      this.close()
      return
    }
    const { input } = this.#options
    this.#running = true
    this.#format = formatAfter(UNKNOWN_FORMAT, input.replay(0).messages)
    input.add(this.#observer)
    this.#start()
  }

  /** Another publisher feeds the stream. The process continues if the format stays the same. */
  publisherChanged(now: number): void {
    this.#awaitsAudioSince = this.#processFormat.audio === null ? null : now
  }

  tick(now: number): void {
    if (this.#process === null) return
    this.#speed.tick(now)
    if (this.#state === 'running' && now - this.#startedAt >= STABLE_MS) this.#backoff.reset()
    const isAudioMissing = this.#awaitsAudioSince !== null && now - this.#awaitsAudioSince >= AUDIO_TIMEOUT_MS
    if (isAudioMissing && this.#feed?.isFed(now)) {
      this.#format = { ...this.#format, audio: null }
      this.#restart()
    }
  }

  close(): void {
    this.#running = false
    this.#options.input.remove(this.#observer)
    this.#end()
    this.#state = 'idle'
  }

  #onMessages(messages: readonly RelayMessage[], now: number): void {
    if (this.#feed?.isFed(now) && this.#watchdog.noteInput(now)) return this.#fail('ffmpeg gives no output')
    if (messages.some(({ kind }) => kind === 'audio')) this.#awaitsAudioSince = null
    const format = formatAfter(this.#format, messages)
    if (isSameFormat(this.#format, format)) return
    this.#format = format
    // Deferred: the replay for a new process contains this batch, so the process must not get the batch a second time.
    queueMicrotask(() => this.#onFormatChange())
  }

  /** Restarts the process if it cannot handle the new format. */
  #onFormatChange(): void {
    if (!this.#running || isSameFormat(this.#processFormat, this.#format)) return
    const version = this.#options.ffmpeg?.version ?? ''
    // Before its first output, a process accepts any format that it can read, and audio that starts a little later.
    const { audio, video } = this.#processFormat
    const isOpen = video === null || (audio === null && isSameFormat({ video, audio }, { ...this.#format, audio }))
    const canContinue = this.#process !== null && this.#state === 'starting' && isOpen
    if (canContinue && unsupportedReason(this.#format, version) === null) this.#processFormat = this.#format
    else this.#restart()
  }

  #restart(): void {
    this.#end()
    this.#lastError = null
    this.#start()
  }

  #start(): void {
    const { ffmpeg, input, limits, log, rendering, slots } = this.#options
    if (ffmpeg === undefined || slots.used >= slots.max) {
      const reason =
        ffmpeg === undefined
          ? 'ffmpeg is missing on this node. Install it (Debian: apt-get install ffmpeg) or set FFMPEG_PATH'
          : 'this node already runs as many encoders as it may'
      this.#retryLater(reason, 'unavailable')
      return
    }
    this.#processFormat = this.#format
    this.#awaitsAudioSince = null
    const refusal = unsupportedReason(this.#format, ffmpeg.version)
    if (refusal !== null) {
      // No retry: another attempt follows when the format changes.
      this.#lastError = refusal
      this.#state = 'unavailable'
      return
    }
    slots.used += 1
    const child = spawn(ffmpeg.path, renderArguments(rendering), { stdio: 'pipe', env: {} })
    this.#process = child
    this.#state = 'starting'
    this.#startedAt = performance.now()
    this.#watchdog = new OutputWatchdog(HANG)
    this.source.attach()
    let stderr = ''
    const reader = new FlvReader((tag) => this.#onTag(child, tag))
    child.stdout.on('data', (bytes: Buffer) => reader.push(bytes))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-MAX_STDERR_LENGTH)))
    // Ignored: when stdin fails, the process exits.
    child.stdin.on('error', () => {})
    child.once('error', (error) => {
      slots.used -= 1
      if (this.#process === child) this.#fail(error.message)
    })
    child.once('exit', (code, signal) => {
      slots.used -= 1
      if (this.#process !== child) return
      log.warn({ exitCode: code, signal, stderr }, 'the encoder of a rendering ended and is restarted')
      this.#fail(stderr.trim().split('\n').at(-1) || `ffmpeg ended (${signal ?? `code ${code}`})`)
    })
    this.#feed = new FlvOutput(input, child.stdin, limits.queue)
  }

  #onTag(child: ChildProcessWithoutNullStreams, tag: FlvTag): void {
    if (child !== this.#process) return
    const message = messageOf(tag)
    if (message === undefined) return
    const now = performance.now()
    this.#watchdog.noteOutput()
    this.#state = 'running'
    if (message.kind === 'video' && !message.isSequenceHeader) this.#speed.frame(message.timestamp, now)
    this.source.push(message, now)
  }

  #fail(reason: string): void {
    this.#end()
    this.#restarts += 1
    this.#retryLater(reason, 'restarting')
  }

  #retryLater(reason: string, state: RenderingStatus['state']): void {
    this.#lastError = reason
    this.#state = state
    this.#restartTimer = setTimeout(() => this.#start(), this.#backoff.next())
  }

  #end(): void {
    clearTimeout(this.#restartTimer)
    this.#speed.reset()
    this.#feed?.close()
    this.#feed = null
    const child = this.#process
    this.#process = null
    child?.kill('SIGKILL')
  }
}

/** Converts a configuration, a frame or metadata. Undefined for other tags. */
function messageOf({ body, timestamp, type }: FlvTag): MediaMessage | undefined {
  const time = Math.max(0, timestamp)
  if (type === DATA) {
    const isSequenceHeader = readMetadata(body) !== null
    return { kind: 'data', timestamp: time, payload: withDataFrame(body), isSequenceHeader, isKeyframe: false }
  }
  if (type !== AUDIO && type !== VIDEO) return undefined
  const { isFrame, isSequenceHeader, isKeyframe, kind } = classify(type, body)
  return isFrame || isSequenceHeader
    ? { kind, timestamp: time, payload: body, isSequenceHeader, isKeyframe }
    : undefined
}
