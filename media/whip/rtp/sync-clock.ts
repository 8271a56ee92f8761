/** A larger A/V offset is corrected at once. A smaller one is corrected by `SLEW_MS` per sender report. */
const JUMP_MS = 80
const SLEW_MS = 2
/** If session time and arrival time differ by more than this, the sender has reset its RTP timestamps. */
const RESET_MS = 5_000
/** Session time of the first packet. Corrections at the start keep it positive. */
const ORIGIN_MS = 1_000

/** The clock of one track of a {@link SyncClock}. Converts RTP timestamps to session time. */
export class TrackClock {
  readonly #session: SyncClock
  readonly #ticksPerMs: number
  /** Session time minus track time, milliseconds; null before the first packet. */
  offset: number | null = null
  /** The sender's wall clock minus track time, milliseconds; null before the first sender report. */
  wallOffset: number | null = null
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(session: SyncClock, clockRate: number) {
    this.#session = session
    this.#ticksPerMs = clockRate / 1_000
  }

  /** Session time, in whole milliseconds, of an unwrapped RTP timestamp that arrived at `now`. Never goes back. */
  sessionTime(timestamp: number, now: number): number {
    const trackMs = timestamp / this.#ticksPerMs
    const arrivalMs = this.#session.arrivalTime(now)
    if (this.offset === null || Math.abs(trackMs + this.offset - arrivalMs) > RESET_MS) {
      this.offset = arrivalMs - trackMs
      this.wallOffset = null
    }
    this.#lastMs = Math.max(this.#lastMs, Math.round(trackMs + this.offset))
    return this.#lastMs
  }

  /** Applies a sender report: the unwrapped RTP `timestamp` at `ntpMs` of the sender's wall clock. */
  report(ntpMs: number, timestamp: number): void {
    this.wallOffset = ntpMs - timestamp / this.#ticksPerMs
    this.#session.align()
  }
}

/**
 * The common timeline of a session's tracks. Each track starts at the arrival time of its first packet. That is inaccurate,
 * because encoders and pacers delay tracks differently. Sender reports correct it (RFC 3550, section 6.4.1).
 */
export class SyncClock {
  /** The clock of the selected video layer. Audio is aligned with it. */
  #video: TrackClock | null = null
  readonly audio: TrackClock = new TrackClock(this, 48_000)
  #startedAt: number | null = null

  /** Session time at `now`, monotonic milliseconds. */
  arrivalTime(now: number): number {
    this.#startedAt ??= now
    return now - this.#startedAt + ORIGIN_MS
  }

  /** Creates a clock for a video layer. The first one is selected. */
  newVideo(): TrackClock {
    const clock = new TrackClock(this, 90_000)
    this.#video ??= clock
    return clock
  }

  /** Selects another layer. If both layers have sender reports, its session time is aligned with the previous layer. */
  switchVideo(track: TrackClock): void {
    const previous = this.#video
    this.#video = track
    if (previous === null || previous === track || previous.offset === null) return
    if (track.wallOffset !== null && previous.wallOffset !== null) {
      track.offset = track.wallOffset + previous.offset - previous.wallOffset
    }
  }

  /** Corrects the A/V offset by the latest sender reports. */
  align(): void {
    const [audio, video] = [this.audio, this.#video]
    if (audio.offset === null || video === null || video.offset === null) return
    if (audio.wallOffset === null || video.wallOffset === null) return
    const videoAheadMs = video.offset - video.wallOffset - (audio.offset - audio.wallOffset)
    if (Math.abs(videoAheadMs) > JUMP_MS) {
      // Only moves tracks forward: session time must not go back.
      if (videoAheadMs > 0) audio.offset += videoAheadMs
      else video.offset -= videoAheadMs
    } else if (Math.abs(videoAheadMs) > SLEW_MS) {
      audio.offset += Math.sign(videoAheadMs) * SLEW_MS
    }
  }
}
