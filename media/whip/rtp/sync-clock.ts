/** Tracks further apart than this are put right at once; less is made good little by little. */
const JUMP_MS = 80
const SLEW_MS = 2
/** A track this far from when its packets arrive has begun to count anew. */
const LOST_MS = 5_000
/** Where the line begins: what is moved back at the start stays positive. */
const ORIGIN_MS = 1_000

/** One track of a {@link SyncClock}. */
export class TrackClock {
  readonly #session: SyncClock
  readonly #ticksPerMs: number
  /** Milliseconds to add to its own time; null before its first packet. */
  offset: number | null = null
  /** Milliseconds from its own time to the sender's wall clock; null before the first report. */
  wallOffset: number | null = null
  #last = Number.NEGATIVE_INFINITY

  constructor(session: SyncClock, clockRate: number) {
    this.#session = session
    this.#ticksPerMs = clockRate / 1_000
  }

  /** Whole milliseconds on the session's line for an RTP timestamp (on a line) that arrived at `now`; never goes back. */
  place(timestamp: number, now: number): number {
    const own = timestamp / this.#ticksPerMs
    const arrived = this.#session.at(now)
    if (this.offset === null || Math.abs(own + this.offset - arrived) > LOST_MS) {
      this.offset = arrived - own
      this.wallOffset = null
    }
    this.#last = Math.max(this.#last, Math.round(own + this.offset))
    return this.#last
  }

  /** Takes a sender report in: at `ntpMs` of the sender's wall clock the track stood at `timestamp` (on a line). */
  report(ntpMs: number, timestamp: number): void {
    this.wallOffset = ntpMs - timestamp / this.#ticksPerMs
    this.#session.align()
  }
}

/**
 * The common line of a session's tracks. Each is placed by when its first packet arrived, which is wrong by what its
 * encoder and pacer took; sender reports tell by how much (RFC 3550, section 6.4.1).
 */
export class SyncClock {
  /** Of the video that is shown: sound goes with that. */
  #video: TrackClock | null = null
  readonly audio: TrackClock = new TrackClock(this, 48_000)
  #startedAt: number | null = null

  /** Where the line is at `now`, monotonic milliseconds. */
  at(now: number): number {
    this.#startedAt ??= now
    return now - this.#startedAt + ORIGIN_MS
  }

  /** A clock for one video, or for one layer of it. The first one is in use. */
  newVideo(): TrackClock {
    const clock = new TrackClock(this, 90_000)
    this.#video ??= clock
    return clock
  }

  /** Another layer is shown from now on. It goes on where the last one was, as far as reports tell. */
  use(track: TrackClock): void {
    const last = this.#video
    this.#video = track
    if (last === null || last === track || last.offset === null) return
    if (track.wallOffset !== null && last.wallOffset !== null) {
      track.offset = track.wallOffset + last.offset - last.wallOffset
    }
  }

  /** Moves the tracks towards each other. */
  align(): void {
    const [audio, video] = [this.audio, this.#video]
    if (audio.offset === null || video === null || video.offset === null) return
    if (audio.wallOffset === null || video.wallOffset === null) return
    const ahead = video.offset - video.wallOffset - (audio.offset - audio.wallOffset)
    if (Math.abs(ahead) > JUMP_MS) {
      // Forward only: what was sent already cannot be taken back.
      if (ahead > 0) audio.offset += ahead
      else video.offset -= ahead
    } else if (Math.abs(ahead) > SLEW_MS) {
      audio.offset += Math.sign(ahead) * SLEW_MS
    }
  }
}
