import type { MediaKind } from '../../../media/types.ts'
import type { Feed } from '../../../media/testing/feed.ts'
import type { Sink, SinkConnection, SinkMessage } from '../../../media/testing/sink.ts'

/** What a destination received in a period. */
export interface Arrivals {
  /** The longest time without a frame, in milliseconds. */
  readonly gapMs: number
  /** The longest time without audio, in milliseconds. */
  readonly audioGapMs: number
  readonly frames: number
  /** How many of those came from a slate or a file, not from an encoder. */
  readonly others: number
  /** Frames missing between two others of the same encoder session. Null when it cannot be determined. */
  readonly skipped: number | null
  /** Messages with an earlier timestamp than the message before, of the same type and connection. */
  readonly back: number
  /**
   * The largest change of the offset between audio and video compared with the encoder, in milliseconds. For transcoded
   * media: the 90th percentile of the offset between the newest audio and the newest video frame while both arrive. Audio that
   * begins late catches up at once, and shows in `audioGapMs`.
   */
  readonly syncMs: number
}

/** The origin of a message that an encoder sent. */
export interface Origin {
  readonly feed: Feed
  /** The number of the frame in its feed. */
  readonly index: number
  readonly timestamp: number
}

/** Finds the origins of relayed messages by their checksums. */
export class Origins {
  readonly #feeds: readonly Feed[]
  readonly #known = new Map<number, Origin>()
  readonly #read = new Map<Feed, number>()

  constructor(feeds: readonly Feed[]) {
    this.#feeds = feeds
  }

  of(message: SinkMessage): Origin | undefined {
    return this.#known.get(message.checksum)
  }

  /** Adds what was sent since the last call. */
  update(frameMs: number): void {
    for (const feed of this.#feeds) {
      for (const { checksum, timestamp } of feed.sent.slice(this.#read.get(feed) ?? 0)) {
        this.#known.set(checksum, { feed, timestamp, index: timestamp / frameMs })
      }
      this.#read.set(feed, feed.sent.length)
    }
  }
}

/** The time of the last arrival, in monotonic milliseconds; 0 when nothing has arrived. */
export function lastArrival(sink: Sink): number {
  return Math.max(0, ...sink.connections.map(({ messages }) => messages.at(-1)?.at ?? 0))
}

/** The time since which media has arrived without a longer pause than this, in monotonic milliseconds, or null. */
export function flowsSince(sink: Sink, now: number, pauseMs: number): number | null {
  let before = now
  const times = sink.connections.flatMap(({ messages }) => messages.slice(-2_000).map(({ at }) => at))
  for (const at of times.toSorted((a, b) => b - a)) {
    if (before - at > pauseMs) break
    before = at
  }
  return before === now ? null : before
}

/** Audio and video further apart than this are not compared, because one of them is not being sent. */
const TOGETHER_MS = 200

/**
 * Measures what arrived from `from` to `to`, monotonic milliseconds.
 *
 * @param sent what encoders sent: the checksums of repeating frames, or the origin of each message
 */
export function measure(sink: Sink, from: number, to: number, sent: ReadonlySet<number> | Origins): Arrivals {
  const origins = sent instanceof Origins ? sent : undefined
  const isSent = (message: SinkMessage) =>
    sent instanceof Origins ? sent.of(message) !== undefined : sent.has(message.checksum)
  const isWithin = ({ at, isSequenceHeader }: SinkMessage) => at >= from && at < to && !isSequenceHeader
  const timesOf = (kind: MediaKind) =>
    sink
      .messages(kind)
      .filter(isWithin)
      .map(({ at }) => at)
  const frames = timesOf('video')
  const perConnection = sink.connections.map((one) => measureConnection(one, isWithin, origins))
  return {
    gapMs: longestGap([from, ...frames, to]),
    audioGapMs: longestGap([from, ...timesOf('audio'), to]),
    frames: frames.length,
    others: sink.messages('video').filter((message) => isWithin(message) && !isSent(message)).length,
    skipped: origins === undefined ? null : perConnection.reduce((sum, { skipped }) => sum + skipped, 0),
    back: perConnection.reduce((sum, { back }) => sum + back, 0),
    syncMs: Math.max(0, ...perConnection.map(({ syncMs }) => syncMs)),
  }
}

function longestGap(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return Math.max(...sorted.slice(1).map((at, index) => at - sorted[index]!))
}

function measureConnection(
  connection: SinkConnection,
  isWithin: (message: SinkMessage) => boolean,
  origins: Origins | undefined,
) {
  const last: Partial<Record<string, SinkMessage>> = {}
  const distances: number[] = []
  let [back, skipped] = [0, 0]
  for (const message of connection.messages) {
    if (!isWithin(message) || message.kind === 'data') continue
    const before = last[message.kind]
    const other = last[message.kind === 'video' ? 'audio' : 'video']
    last[message.kind] = message
    if (before !== undefined && message.timestamp < before.timestamp) back += 1
    const origin = origins?.of(message)
    if (origins === undefined) {
      const isTogether = other !== undefined && before !== undefined && message.at - other.at < TOGETHER_MS
      if (isTogether) distances.push(Math.abs(message.timestamp - other.timestamp))
      continue
    }
    if (origin === undefined) continue
    const previous = before && origins.of(before)
    if (message.kind === 'video' && previous?.feed === origin.feed)
      skipped += Math.max(0, origin.index - previous.index - 1)
    const beside = other && origins.of(other)
    if (other === undefined || beside?.feed !== origin.feed) continue
    const distance = message.timestamp - other.timestamp - (origin.timestamp - beside.timestamp)
    distances.push(Math.abs(distance))
  }
  const share = origins === undefined ? 0.9 : 1
  const syncMs = distances.toSorted((a, b) => a - b)[Math.ceil(distances.length * share) - 1] ?? 0
  return { back, skipped, syncMs }
}
