import { crc32 } from 'node:zlib'
import type { MediaKind } from '../types.ts'
import { aacFrame, aacHeader, avcFrame, avcHeader } from './media-payloads.ts'
import type { TestPublisher } from './publisher.ts'

export interface FeedOptions {
  /** Milliseconds between video frames, and between audio frames. */
  readonly frameMs?: number
  readonly keyframeEveryMs?: number
  readonly videoBytes?: number
  readonly audioBytes?: number
  /** First timestamp, milliseconds. */
  readonly startTimestamp?: number
}

export interface SentMessage {
  readonly kind: MediaKind
  readonly timestamp: number
  readonly checksum: number
  /** Monotonic milliseconds. */
  readonly at: number
}

/** Sends synthetic media in real time and keeps a record of every message. All messages differ. */
export class Feed {
  readonly sent: SentMessage[] = []
  /** Payload bytes of all frames and sequence headers. */
  bytes = 0
  readonly publisher: TestPublisher
  readonly #options: Required<FeedOptions>
  readonly #startedAt = performance.now()
  #timer: NodeJS.Timeout | undefined
  #frames = 0

  constructor(publisher: TestPublisher, options: FeedOptions = {}) {
    this.publisher = publisher
    this.#options = {
      frameMs: 20,
      keyframeEveryMs: 500,
      videoBytes: 5_000,
      audioBytes: 200,
      startTimestamp: 0,
      ...options,
    }
  }

  /** Sends sequence headers, then frames in real time. */
  start(): this {
    const { startTimestamp, frameMs } = this.#options
    this.publisher.metadata({ width: 640, height: 360 })
    this.#send('video', startTimestamp, avcHeader())
    this.#send('audio', startTimestamp, aacHeader())
    this.#timer = setInterval(() => this.#catchUp(), Math.min(frameMs, 20))
    this.#catchUp()
    return this
  }

  stop(): this {
    clearInterval(this.#timer)
    return this
  }

  of(kind: MediaKind): SentMessage[] {
    return this.sent.filter((message) => message.kind === kind)
  }

  #catchUp(): void {
    const { frameMs, keyframeEveryMs, videoBytes, audioBytes, startTimestamp } = this.#options
    while (performance.now() - this.#startedAt >= this.#frames * frameMs) {
      const time = this.#frames * frameMs
      const isKeyframe = time % keyframeEveryMs === 0
      const timestamp = (startTimestamp + time) % 0x1_0000_0000
      this.#send('video', timestamp, avcFrame(isKeyframe, videoBytes, this.#frames & 0xff))
      this.#send('audio', timestamp, aacFrame(audioBytes, this.#frames & 0xff))
      this.#frames += 1
    }
  }

  #send(kind: 'audio' | 'video', timestamp: number, body: Buffer): void {
    // A counter, so that no two messages are equal.
    if (body.length > 100) body.writeUInt32BE(this.#frames, body.length - 4)
    this.sent.push({ kind, timestamp, checksum: crc32(body), at: performance.now() })
    this.bytes += body.length
    if (kind === 'video') this.publisher.video(timestamp, body)
    else this.publisher.audio(timestamp, body)
  }
}
