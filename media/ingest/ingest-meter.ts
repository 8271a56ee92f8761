import { headerVideoSize } from '../rtmp/flv.ts'
import type { Classification, StreamMetadata } from '../rtmp/flv.ts'
import type { VideoSize } from '../rtmp/sps.ts'
import type { IngestStatus } from '../types.ts'

/** Statistics of one publisher that the ingest knows. */
export type PublisherStats = Omit<IngestStatus, 'sessionId' | 'source' | 'since' | 'remoteAddress'>

type MeasuredStats = Omit<PublisherStats, 'warnings' | 'keyframeIntervalSeconds'>

/** Seconds over which rates are averaged. */
const WINDOW = 5

/** Measures a publisher's codecs, size and rates. `now` returns milliseconds of a monotonic clock. */
export class IngestMeter {
  readonly #now: () => number
  readonly #startedAt: number
  /** Bytes and frames of the last seconds, by second of uptime. */
  readonly #bytesOfSecond = new Map<number, number>()
  readonly #framesOfSecond = new Map<number, number>()
  #bytesReceived = 0
  #videoCodec: string | null = null
  #audioCodec: string | null = null
  #size: VideoSize | null = null
  #metadata: StreamMetadata | null = null

  constructor(now: () => number) {
    this.#now = now
    this.#startedAt = now()
  }

  bytes(count: number): void {
    this.#bytesReceived += count
    this.#add(this.#bytesOfSecond, count)
  }

  metadata(metadata: StreamMetadata): void {
    this.#metadata = metadata
  }

  message(classified: Classification, payload: Buffer): void {
    if (classified.kind === 'audio') {
      this.#audioCodec = classified.codec ?? this.#audioCodec
      return
    }
    this.#videoCodec = classified.codec ?? this.#videoCodec
    if (classified.isSequenceHeader) this.#size = headerVideoSize(payload, classified.codec) ?? this.#size
    if (classified.isFrame) this.#add(this.#framesOfSecond, 1)
  }

  /** Resolution of the last video sequence header. */
  get size(): VideoSize | null {
    return this.#size
  }

  /** Bits per second over the last few seconds. */
  get bitrate(): number {
    return Math.round((this.#rate(this.#bytesOfSecond) ?? 0) * 8)
  }

  stats(): MeasuredStats {
    const uptimeSeconds = Math.round(this.#now() - this.#startedAt) / 1_000
    const fps = this.#metadata?.fps ?? this.#rate(this.#framesOfSecond)
    return {
      videoCodec: this.#videoCodec,
      audioCodec: this.#audioCodec,
      width: this.#size?.width ?? this.#metadata?.width ?? null,
      height: this.#size?.height ?? this.#metadata?.height ?? null,
      fps: fps === null || fps === 0 ? null : Math.round(fps * 100) / 100,
      bitrate: this.bitrate,
      bytesReceived: this.#bytesReceived,
      uptimeSeconds,
    }
  }

  #add(counters: Map<number, number>, count: number): void {
    const second = this.#second()
    counters.set(second, (counters.get(second) ?? 0) + count)
    if (counters.size > WINDOW + 1) {
      for (const key of counters.keys()) if (key < second - WINDOW) counters.delete(key)
    }
  }

  /** Mean of the last complete seconds. Within the first second, the count so far. */
  #rate(counters: Map<number, number>): number | null {
    const second = this.#second()
    const seconds = Math.min(WINDOW, second)
    if (seconds === 0) return counters.get(0) ?? null
    let sum = 0
    for (const [key, count] of counters) if (key < second && key >= second - seconds) sum += count
    return sum / seconds
  }

  #second(): number {
    return Math.floor((this.#now() - this.#startedAt) / 1_000)
  }
}
