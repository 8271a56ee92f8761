/** The bitrate is an average over this time. */
const BITRATE_WINDOW_MS = 4_000

/** The counters of one destination over all its connections. Times are monotonic milliseconds. */
export class DestinationCounters {
  messagesSent = 0
  reconnects = 0
  #liveMs = 0
  #samples: { at: number; bytes: number }[] = []
  #sentBefore = 0
  #acknowledgedBefore = 0
  #sent = 0
  #acknowledged = 0

  get bytesSent(): number {
    return this.#sentBefore + this.#sent
  }

  get bytesAcknowledged(): number {
    return Math.min(this.#acknowledgedBefore + this.#acknowledged, this.bytesSent)
  }

  get liveSeconds(): number {
    return Math.round(this.#liveMs / 1000)
  }

  get bitrate(): number {
    const first = this.#samples[0]
    const last = this.#samples.at(-1)
    if (first === undefined || last === undefined || last.at <= first.at) return 0
    return Math.round(((last.bytes - first.bytes) * 8_000) / (last.at - first.at))
  }

  /** Sets the bytes of the current connection so far. */
  updateConnection(sent: number, acknowledged: number): void {
    this.#sent = sent
    this.#acknowledged = acknowledged
  }

  /** The current connection ended. The next one counts from 0. */
  connectionEnded(): void {
    this.#sentBefore += this.#sent
    this.#acknowledgedBefore = this.bytesAcknowledged
    this.#sent = 0
    this.#acknowledged = 0
  }

  /** Takes a sample. Call it regularly. `live`: the destination is receiving media. */
  tick(now: number, live: boolean): void {
    const previous = this.#samples.at(-1)
    const bytes = this.bytesSent
    if (live && previous !== undefined && bytes > previous.bytes) this.#liveMs += now - previous.at
    this.#samples.push({ at: now, bytes })
    while (this.#samples.length > 2 && now - this.#samples[0]!.at > BITRATE_WINDOW_MS) this.#samples.shift()
  }
}
