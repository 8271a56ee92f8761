import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { OutputWatchdog } from '../../output-watchdog.ts'
import { flvHeader, flvTag } from '../../preview/flv-tag.ts'
import type { RelayBatch, RelayMessage } from '../../relay/relay-message.ts'
import type { Output } from '../../relay/source.ts'
import type { MediaLog } from '../../types.ts'
import { OggReader } from './ogg-reader.ts'

const AAC = 10
const CONFIGURATION = 0
/** Input that ffmpeg has not read yet. One second of audio has about 16 kB. */
const MAX_UNREAD_BYTES = 256 * 1024
/** After a gap in the stream's audio of more than this, ffmpeg is restarted, so that it does not encode the silence. */
const GAP_MS = 1_000

/** Time until a failed ffmpeg is restarted, in stream time. It doubles with each failure. */
const INITIAL_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 60_000

/** How long ffmpeg may get input without giving output. */
const HANG = { firstMs: 10_000, silentMs: 3_000 } as const

const PACKET_MS = 20
/**
 * While ffmpeg starts, input queues up, and playing all of it would delay the audio for good. So packets that are later than
 * `MAX_DELAY_MS` are dropped among the first `STARTUP_PACKETS`.
 */
const MAX_DELAY_MS = 150
const STARTUP_PACKETS = 150

const ARGUMENTS = [
  '-hide_banner -loglevel error -nostdin -nostats -fflags nobuffer -flags low_delay',
  '-probesize 32 -analyzeduration 0 -protocol_whitelist pipe -f flv -i pipe:0 -vn',
  '-c:a libopus -b:a 96k -ar 48000 -ac 2 -application lowdelay -frame_duration 20 -af aresample=async=1000',
  '-flush_packets 1 -page_duration 20000 -f ogg pipe:1',
]
  .join(' ')
  .split(' ')

/** Encodes a stream's AAC as Opus packets of 20 ms for its WebRTC viewers, with one ffmpeg for all of them. */
export class OpusEncoder implements Output {
  readonly #ffmpeg: string
  readonly #log: MediaLog
  readonly #listeners = new Set<(packet: Buffer) => void>()
  #process: ChildProcessWithoutNullStreams | null = null
  #configuration: RelayMessage | null = null
  /** Stream time of the first message that this ffmpeg got. */
  #startTimestamp = 0
  /** Stream time of the last message. */
  #lastTimestamp = 0
  #watchdog = new OutputWatchdog(HANG)
  #failures = 0
  /** Stream time before which ffmpeg is not restarted. */
  #restartTimestamp = Number.NEGATIVE_INFINITY

  constructor(ffmpeg: string, log: MediaLog) {
    this.#ffmpeg = ffmpeg
    this.#log = log
  }

  /** Adds a listener for packets. @returns a function that removes it */
  listen(listener: (packet: Buffer) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0
  }

  write({ messages }: Pick<RelayBatch, 'messages'>): void {
    for (const message of messages)
      if (message.kind === 'audio' && message.payload[0]! >> 4 === AAC) this.#encode(message)
  }

  #encode(message: RelayMessage): void {
    if (message.payload[1] === CONFIGURATION) {
      this.#configuration = message
      this.#stop()
      return
    }
    const { timestamp } = message
    if (this.#process !== null && timestamp - this.#lastTimestamp > GAP_MS) this.#stop()
    this.#lastTimestamp = timestamp
    if (this.#configuration === null || timestamp < this.#restartTimestamp) return
    this.#process ??= this.#start(this.#configuration, timestamp)
    const { stdin } = this.#process
    // When it has ended, `close` schedules the restart.
    if (this.#watchdog.noteInput(performance.now())) this.#process.kill('SIGKILL')
    if (stdin.writableLength < MAX_UNREAD_BYTES) stdin.write(flvTag(message, timestamp - this.#startTimestamp))
  }

  #start(configuration: RelayMessage, timestamp: number): ChildProcessWithoutNullStreams {
    const child = spawn(this.#ffmpeg, ARGUMENTS, { stdio: 'pipe', env: {} })
    let count = 0
    const reader = new OggReader((packet) => {
      const delayMs = this.#lastTimestamp - timestamp - count * PACKET_MS
      count += 1
      if (this.#process === child) this.#watchdog.noteOutput()
      if (this.#process !== child || (count <= STARTUP_PACKETS && delayMs > MAX_DELAY_MS)) return
      for (const listener of this.#listeners) listener(packet)
    })
    child.stdout.on('data', (bytes: Buffer) => reader.push(bytes))
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-500)))
    // A write error means that the process has ended, which `close` reports.
    child.stdin.on('error', () => {})
    const onExit = (cause: string): void => {
      if (this.#process !== child) return
      this.#process = null
      const backoffMs = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** this.#failures)
      this.#failures += 1
      this.#restartTimestamp = this.#lastTimestamp + backoffMs
      this.#log.warn(
        { cause, stderr, backoffMs },
        'the audio encoder of a preview ended; it is restarted after the back-off',
      )
    }
    child.once('error', (error) => onExit(error.message))
    child.once('close', (code, signal) => onExit(signal ?? `code ${code}`))
    this.#startTimestamp = timestamp
    this.#watchdog = new OutputWatchdog(HANG)
    child.stdin.write(Buffer.concat([flvHeader({ audio: true, video: false }), flvTag(configuration, 0)]))
    return child
  }

  #stop(): void {
    const child = this.#process
    this.#process = null
    this.#failures = 0
    this.#restartTimestamp = Number.NEGATIVE_INFINITY
    child?.kill('SIGKILL')
  }
}
