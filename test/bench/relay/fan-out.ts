import { setTimeout as delay } from 'node:timers/promises'
import { end } from '../../support/rtmp-servers.ts'
import { proportionalBytes, residentBytes, scheduledSeconds } from '../support/process.ts'
import type { Side } from './sides.ts'
import { startBenchSink } from './sink.ts'
import { pushForever } from './source.ts'

export interface Fan {
  readonly streams: number
  readonly destinations: number
  /** Whether destinations use RTMPS. */
  readonly secure?: boolean
}

export interface FanOutOptions {
  readonly file: string
  readonly folder: string
  readonly warmUpSeconds: number
  readonly seconds: number
}

export interface FanOutFigures {
  /** Percent of one core over the window. */
  readonly cpuPercent: number
  /** CPU seconds per 10^9 bits received by the destinations. */
  readonly cpuSecondsPerGbit: number
  readonly residentBytes: number
  /** Memory, with shared pages divided among their processes. */
  readonly proportionalBytes: number
  /** Bits per second of the slowest destination. */
  readonly slowestBitrate: number
}

/** The minimum rate of every destination, as a share of the source's 5 Mb/s. */
const MIN_BITRATE = 4.5e6

/** Runs ffmpeg publishers through a relay to the sink, and measures the relay after the warm-up. */
export async function measureFanOut(side: Side, fan: Fan, options: FanOutOptions): Promise<FanOutFigures> {
  const sink = await startBenchSink(fan)
  const relay = await side.start({ ...fan, sinkPort: sink.port, folder: options.folder })
  const publishers = relay.ingests.map((ingest) => pushForever(options.file, ingest))
  try {
    await delay(options.warmUpSeconds * 1_000)
    const before = await sample()
    await delay(options.seconds * 1_000)
    const after = await sample()
    if (publishers.some(({ exitCode }) => exitCode !== null)) throw new Error(`${side.name}: a publisher exited`)
    const seconds = (after.at - before.at) / 1_000
    const received = [...after.bytes].map(([key, bytes]) => bytes - (before.bytes.get(key) ?? 0))
    if (received.length !== fan.destinations) {
      throw new Error(`${side.name}: ${received.length} of ${fan.destinations} destinations received media`)
    }
    const slowestBitrate = (Math.min(...received) * 8) / seconds
    if (slowestBitrate < MIN_BITRATE) {
      throw new Error(
        `${side.name}: a destination received ${(slowestBitrate / 1e6).toFixed(2)} Mb/s of 5, so there is no ratio`,
      )
    }
    const gbit = (received.reduce((sum, bytes) => sum + bytes, 0) * 8) / 1e9
    const cpu = after.cpu - before.cpu
    const pids = relay.pids()
    return {
      cpuPercent: (cpu / seconds) * 100,
      cpuSecondsPerGbit: cpu / gbit,
      residentBytes: sum(pids.map(residentBytes)),
      proportionalBytes: sum(pids.map(proportionalBytes)),
      slowestBitrate,
    }
  } finally {
    for (const publisher of publishers) await end(publisher, 'SIGKILL')
    await relay.stop()
    await sink.close()
  }

  /** By key and not by connection, because a relay can reconnect. */
  async function sample() {
    const bytes = new Map<string, number>()
    for (const { streamKey, bytes: count } of await sink.connections()) {
      if (streamKey !== null) bytes.set(streamKey, (bytes.get(streamKey) ?? 0) + count)
    }
    return { at: performance.now(), cpu: sum(relay.pids().map(scheduledSeconds)), bytes }
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
