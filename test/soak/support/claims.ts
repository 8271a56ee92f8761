import { setTimeout as delay } from 'node:timers/promises'
import type { Sink } from '../../../media/testing/sink.ts'
import { flowsSince, lastArrival } from './arrivals.ts'

/**
 * Longest that a status may differ from what destinations have, milliseconds. A process that hangs is known to after
 * 3 s, a status is told once a second and asked for once a second; the rest is for a machine that is busy.
 */
export const CLAIM_MS = 7_000
const POLL_MS = 1_000
const REQUEST_MS = 5_000
/** Media flows while it pauses for less than this, milliseconds. */
const PAUSE_MS = 1_000

const FLOWING = ['live', 'congested']
/** States in which nothing can arrive. `unknown` says that nobody can tell. */
const CUT_OFF = ['idle', 'resolving', 'connecting', 'handshake', 'backoff', 'needs_attention', 'stopped']

export interface WatchedStream {
  readonly name: string
  readonly id: string
  /** Destinations by name. */
  readonly sinks: Readonly<Record<string, Sink>>
}

export interface Contradiction {
  readonly phase: string
  readonly what: string
  /** How often it was told in a row. */
  times: number
}

interface Told {
  readonly status: string
  readonly at: string | null
  readonly destinations: readonly { readonly name: string; readonly status: string }[]
}

/** Asks for the status of streams each second and compares it with what their destinations had. */
export class ClaimWatch {
  readonly contradictions: Contradiction[] = []
  readonly #ask: (id: string, signal: AbortSignal) => Promise<unknown>
  readonly #stopped = new AbortController()
  readonly #runs: Promise<void>[]
  phase = ''
  answers = 0
  /** Questions without an answer. */
  unanswered = 0

  /** @param ask returns the relay status of a stream */
  constructor(streams: readonly WatchedStream[], ask: (id: string, signal: AbortSignal) => Promise<unknown>) {
    this.#ask = ask
    this.#runs = streams.map((stream) => this.#watch(stream))
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#runs)
  }

  async #watch(stream: WatchedStream): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const askedAt = performance.now()
      try {
        const told = (await this.#ask(stream.id, AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]))) as Told
        this.answers += 1
        this.#compare(stream, told, askedAt)
      } catch {
        this.unanswered += 1
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => {})
    }
  }

  #compare({ name, sinks }: WatchedStream, told: Told, askedAt: number): void {
    const quietMs: number[] = []
    for (const destination of told.destinations) {
      const sink = sinks[destination.name]
      if (sink === undefined) continue
      const quiet = askedAt - lastArrival(sink)
      quietMs.push(quiet)
      if (FLOWING.includes(destination.status) && told.status === 'live' && quiet > CLAIM_MS) {
        this.#add(`${destination.name} is told ${destination.status}, and has had nothing for ${seconds(quiet)}`)
      }
      const since = flowsSince(sink, askedAt, PAUSE_MS)
      if (CUT_OFF.includes(destination.status) && since !== null && askedAt - since > CLAIM_MS) {
        this.#add(
          `${destination.name} is told ${destination.status}, and has had media for ${seconds(askedAt - since)}`,
        )
      }
    }
    const quiet = Math.min(...quietMs)
    if (told.status === 'live' && told.at !== null && quiet > CLAIM_MS) {
      this.#add(`${name} is told live, and no destination has had anything for ${seconds(quiet)}`)
    }
  }

  #add(what: string): void {
    const last = this.contradictions.findLast(({ phase }) => phase === this.phase)
    if (last !== undefined && last.what.replace(/[\d.]+ s$/, '') === what.replace(/[\d.]+ s$/, '')) {
      last.times += 1
      return
    }
    this.contradictions.push({ phase: this.phase, what, times: 1 })
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
