import { headerPictureSize } from '../rtmp/flv.ts'
import type { Classification, StreamMetadata } from '../rtmp/flv.ts'
import type { PictureSize } from '../rtmp/sps.ts'
import type { IngestStatus } from '../types.ts'

/** The figures of one publisher, as far as ingest knows them. */
export type PublisherStats = Omit<IngestStatus, 'sessionId' | 'since' | 'remoteAddress'>

/** Seconds over which rates are averaged. */
const WINDOW = 5
/** Longest time between keyframes that every platform takes, seconds. */
const LONGEST_KEYFRAME_INTERVAL = 4
/** How long a stream may be without one of its tracks before that is worth a warning, seconds. */
const TRACK_PATIENCE = 5

/** Measures a publisher. Times come from `now`, milliseconds of a monotonic clock. */
export class IngestMeter {
  readonly #now: () => number
  readonly #startedAt: number
  /** Byte and frame counters by second of uptime, the last few of them. */
  readonly #bytesOfSecond = new Map<number, number>()
  readonly #framesOfSecond = new Map<number, number>()
  #bytesReceived = 0
  #videoCodec: string | null = null
  #audioCodec: string | null = null
  #size: PictureSize | null = null
  #metadata: StreamMetadata | null = null
  #lastKeyframe: number | null = null
  #keyframeInterval: number | null = null

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

  /** `timestamp` is the message's place on the stream's line, milliseconds. */
  message(seen: Classification, timestamp: number, payload: Buffer): void {
    if (seen.kind === 'audio') {
      this.#audioCodec = seen.codec ?? this.#audioCodec
      return
    }
    this.#videoCodec = seen.codec ?? this.#videoCodec
    if (seen.isHeader) this.#size = headerPictureSize(payload, seen.codec) ?? this.#size
    if (seen.isFrame) this.#add(this.#framesOfSecond, 1)
    if (!seen.isKeyframe) return
    if (this.#lastKeyframe !== null) this.#keyframeInterval = (timestamp - this.#lastKeyframe) / 1_000
    this.#lastKeyframe = timestamp
  }

  stats(discontinuities: number): PublisherStats {
    const uptimeSeconds = (this.#now() - this.#startedAt) / 1_000
    const fps = this.#metadata?.fps ?? this.#rate(this.#framesOfSecond)
    return {
      videoCodec: this.#videoCodec,
      audioCodec: this.#audioCodec,
      width: this.#size?.width ?? this.#metadata?.width ?? null,
      height: this.#size?.height ?? this.#metadata?.height ?? null,
      fps: fps === null || fps === 0 ? null : Math.round(fps * 100) / 100,
      bitrate: Math.round((this.#rate(this.#bytesOfSecond) ?? 0) * 8),
      bytesReceived: this.#bytesReceived,
      keyframeIntervalSeconds: this.#keyframeInterval,
      uptimeSeconds,
      warnings: this.#warnings(uptimeSeconds, discontinuities),
    }
  }

  #warnings(uptimeSeconds: number, discontinuities: number): string[] {
    const warnings: string[] = []
    const patient = uptimeSeconds < TRACK_PATIENCE
    if (this.#videoCodec === null && !patient) warnings.push('No video is coming in.')
    if (this.#audioCodec === null && !patient)
      warnings.push('No audio is coming in; some platforms refuse such a stream.')
    if (this.#videoCodec !== null && this.#videoCodec !== 'h264') {
      warnings.push(`Video is ${this.#videoCodec}; only H.264 is taken by every platform.`)
    }
    if (this.#audioCodec !== null && this.#audioCodec !== 'aac') {
      warnings.push(`Audio is ${this.#audioCodec}; only AAC is taken by every platform.`)
    }
    if (this.#keyframeInterval !== null && this.#keyframeInterval > LONGEST_KEYFRAME_INTERVAL) {
      warnings.push(`Keyframes come every ${this.#keyframeInterval.toFixed(1)} s; set the encoder to 2 s.`)
    }
    if (discontinuities > 0) warnings.push(`The encoder's clock jumped back ${discontinuities} times.`)
    return warnings
  }

  #add(counters: Map<number, number>, count: number): void {
    const second = this.#second()
    counters.set(second, (counters.get(second) ?? 0) + count)
    if (counters.size > WINDOW + 1) {
      for (const key of counters.keys()) if (key < second - WINDOW) counters.delete(key)
    }
  }

  /** Mean of the last whole seconds; within the first one, of what there is. */
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
