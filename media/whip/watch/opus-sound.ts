import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { OutputWatchdog } from '../../output-watchdog.ts'
import { flvHeader, flvTag } from '../../preview/flv-tag.ts'
import type { RelayBatch, RelayMessage } from '../../relay/relay-message.ts'
import type { Output } from '../../relay/source.ts'
import type { MediaLog } from '../../types.ts'
import { OggReader } from './ogg-reader.ts'

const AAC = 10
const CONFIGURATION = 0
/** What ffmpeg has not read: a second of sound has about 16 kB. */
const MOST_WAITING_BYTES = 256 * 1024
/** Without the stream's sound for this long, the next begins anew: nobody waits for the silence between. */
const GAP_MS = 1_000

/** Of the stream's time, between an ffmpeg that ended by itself and the next; it doubles with each. */
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 60_000

/** How long ffmpeg may be handed sound and give nothing out, milliseconds. */
const HANG = { firstMs: 10_000, silentMs: 3_000 } as const

const PACKET_MS = 20
/** What ffmpeg made good while it started would be heard late for ever: of the first packets, those further behind than this are left out. */
const LATE_MS = 150
const STARTING_PACKETS = 150

const ARGUMENTS = [
  '-hide_banner -loglevel error -nostdin -nostats -fflags nobuffer -flags low_delay',
  '-probesize 32 -analyzeduration 0 -protocol_whitelist pipe -f flv -i pipe:0 -vn',
  '-c:a libopus -b:a 96k -ar 48000 -ac 2 -application lowdelay -frame_duration 20 -af aresample=async=1000',
  '-flush_packets 1 -page_duration 20000 -f ogg pipe:1',
]
  .join(' ')
  .split(' ')

/** The sound of a stream as Opus packets of 20 ms, for all who watch it over WebRTC: one ffmpeg, while there is AAC. */
export class OpusSound implements Output {
  readonly #ffmpeg: string
  readonly #log: MediaLog
  readonly #listeners = new Set<(packet: Buffer) => void>()
  #process: ChildProcessWithoutNullStreams | null = null
  #configuration: RelayMessage | null = null
  #startedAt = 0
  #lastAt = 0
  #watch = new OutputWatchdog(HANG)
  #failures = 0
  /** Of the stream's time; until then there is silence. */
  #againAt = Number.NEGATIVE_INFINITY

  constructor(ffmpeg: string, log: MediaLog) {
    this.#ffmpeg = ffmpeg
    this.#log = log
  }

  /** @returns what ends it */
  listen(listener: (packet: Buffer) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0
  }

  write({ messages }: Pick<RelayBatch, 'messages'>): void {
    for (const message of messages)
      if (message.kind === 'audio' && message.payload[0]! >> 4 === AAC) this.#take(message)
  }

  #take(message: RelayMessage): void {
    if (message.payload[1] === CONFIGURATION) {
      this.#configuration = message
      this.#stop()
      return
    }
    const { timestamp } = message
    if (this.#process !== null && timestamp - this.#lastAt > GAP_MS) this.#stop()
    this.#lastAt = timestamp
    if (this.#configuration === null || timestamp < this.#againAt) return
    this.#process ??= this.#start(this.#configuration, timestamp)
    const { stdin } = this.#process
    // Its end is followed by another one.
    if (this.#watch.noteInput(performance.now())) this.#process.kill('SIGKILL')
    if (stdin.writableLength < MOST_WAITING_BYTES) stdin.write(flvTag(message, timestamp - this.#startedAt))
  }

  #start(configuration: RelayMessage, timestamp: number): ChildProcessWithoutNullStreams {
    const child = spawn(this.#ffmpeg, ARGUMENTS, { stdio: 'pipe', env: {} })
    let count = 0
    const reader = new OggReader((packet) => {
      const behindMs = this.#lastAt - timestamp - count * PACKET_MS
      count += 1
      if (this.#process === child) this.#watch.noteOutput()
      if (this.#process !== child || (count <= STARTING_PACKETS && behindMs > LATE_MS)) return
      for (const listener of this.#listeners) listener(packet)
    })
    child.stdout.on('data', (bytes: Buffer) => reader.push(bytes))
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-500)))
    // That it cannot be written to any more shows as its end.
    child.stdin.on('error', () => {})
    const over = (how: string): void => {
      if (this.#process !== child) return
      this.#process = null
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures)
      this.#failures += 1
      this.#againAt = this.#lastAt + pauseMs
      this.#log.warn({ how, said, pauseMs }, 'a preview is without sound for a while')
    }
    child.once('error', (error) => over(error.message))
    child.once('close', (code, signal) => over(signal ?? `code ${code}`))
    this.#startedAt = timestamp
    this.#watch = new OutputWatchdog(HANG)
    child.stdin.write(Buffer.concat([flvHeader({ audio: true, video: false }), flvTag(configuration, 0)]))
    return child
  }

  #stop(): void {
    const child = this.#process
    this.#process = null
    this.#failures = 0
    this.#againAt = Number.NEGATIVE_INFINITY
    child?.kill('SIGKILL')
  }
}
