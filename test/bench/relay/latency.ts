import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from './monotonic.ts'
import type { Side } from './sides.ts'
import { startBenchSink, type Arrivals } from './sink.ts'
import { PacedPublisher, readTags, type SentFrame } from './source.ts'

export interface LatencyOptions {
  readonly file: string
  readonly folder: string
  readonly destinations: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

export interface LatencyFigures {
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly frames: number
  /** Frames of the window that did not arrive, in total over the destinations. */
  readonly lost: number
  /** The time from Publish.Start to the first frame, of the slowest destination connected before the publisher. */
  readonly firstFrameMs: number
  /** The same for a destination added while live; null when the relay cannot do that. */
  readonly joinedFirstFrameMs: number | null
}

const JOINED_KEY = 'joined'
/** The share of frames that can be missing, at the edges of the window. */
const MAX_LOST = 0.01

/** Publishes stamped frames through a relay and compares their send and arrival times. */
export async function measureLatency(side: Side, options: LatencyOptions): Promise<LatencyFigures> {
  const sink = await startBenchSink()
  const { destinations, folder } = options
  const relay = await side.start({ streams: 1, destinations, folder, sinkPort: sink.port })
  const publisher = await PacedPublisher.start(relay.ingests[0]!, readTags(options.file))
  try {
    await delay(options.warmUpSeconds * 1_000)
    const from = monotonicMs()
    await delay(options.seconds * 1_000)
    const until = monotonicMs()
    relay.addDestination?.(JOINED_KEY)
    // Longer than a GOP, so that every destination has received a keyframe by then.
    await delay(3_000)
    const connections = await sink.connections({ withFrames: true })
    const isJoined = ({ streamKey }: Arrivals) => streamKey === JOINED_KEY
    const joined = connections.filter(isJoined)
    const present = connections.filter((connection) => !isJoined(connection))
    const window = new Map([...publisher.sent].filter(([, { at }]) => at >= from && at < until))
    const figures = delays(window, present, destinations)
    if (!(figures.lost <= figures.frames * destinations * MAX_LOST)) {
      throw new Error(`${side.name}: ${figures.lost} frames did not arrive, so there are no figures`)
    }
    return {
      ...figures,
      firstFrameMs: Math.max(...present.map(firstFrameMs)),
      joinedFirstFrameMs: joined.length === 0 ? null : Math.max(...joined.map(firstFrameMs)),
    }
  } finally {
    publisher.stop()
    await relay.stop()
    await sink.close()
  }
}

function delays(sent: ReadonlyMap<number, SentFrame>, connections: readonly Arrivals[], destinations: number) {
  const all: number[] = []
  for (const { frames } of connections) {
    for (const { checksum, at } of frames) {
      const frame = sent.get(checksum)
      if (frame !== undefined) all.push(at - frame.at)
    }
  }
  all.sort((a, b) => a - b)
  const percentile = (part: number) => all[Math.min(all.length - 1, Math.floor(all.length * part))] ?? Number.NaN
  return {
    p50Ms: percentile(0.5),
    p95Ms: percentile(0.95),
    p99Ms: percentile(0.99),
    maxMs: percentile(1),
    frames: sent.size,
    lost: sent.size * destinations - all.length,
  }
}

function firstFrameMs({ publishedAt, frames }: Arrivals): number {
  const frame = frames.find(({ kind }) => kind === 'video')
  return publishedAt === null || frame === undefined ? Number.NaN : frame.at - publishedAt
}
