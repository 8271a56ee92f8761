import { setTimeout as delay } from 'node:timers/promises'
import type { Sink } from '../../../media/testing/sink.ts'
import { flowsSince, lastArrival } from './arrivals.ts'

/**
 * The longest time that a status can differ from what destinations receive, in milliseconds. A process that hangs is
 * noticed after 3 s, and a status is sent and read once a second; the rest is tolerance for a busy machine.
 */
export const CLAIM_MS = 7_000
const LOOK_MS = 1_000
const REQUEST_MS = 5_000
/** Media counts as flowing while its pauses are shorter than this, in milliseconds. */
const PAUSE_MS = 1_000

const FLOWING = ['live', 'congested']
/** States in which nothing can arrive. In the state `unknown` anything can. */
const CUT_OFF = ['idle', 'resolving', 'connecting', 'handshake', 'backoff', 'needs_attention', 'stopped']

export interface WatchedStream {
  readonly name: string
  readonly id: string
  /** Destinations, by name. */
  readonly sinks: Readonly<Record<string, Sink>>
}

/** The reported status of a stream. */
export interface ReportedStatus {
  readonly status: string
  /** When it was observed; null when the current status is unknown. */
  readonly at: string | null
  readonly destinations: readonly { readonly name: string; readonly status: string }[]
}

/** A source of statuses. */
export interface StatusSource {
  readonly name: string
  /** Undefined, or rejected, while it reports nothing. */
  readonly ask: (stream: WatchedStream, signal: AbortSignal) => Promise<ReportedStatus | undefined>
}

export interface Contradiction {
  readonly phase: string
  readonly stream: string
  readonly what: string
  /** How often it was reported after that. */
  times: number
}

/**
 * Reads the status of streams every second and compares it with what their destinations received. A status and media read
 * at the same moment can be on different sides of a change, so a contradiction counts only when the next check finds it
 * again.
 */
export class ClaimWatch {
  readonly contradictions: Contradiction[] = []
  readonly #stopped = new AbortController()
  readonly #runs: Promise<void>[]
  phase = ''
  answers = 0
  /** Checks that got no status. */
  unanswered = 0

  constructor(streams: readonly WatchedStream[], sources: readonly StatusSource[]) {
    this.#runs = streams.flatMap((stream) => sources.map((source) => this.#watch(stream, source)))
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#runs)
  }

  async #watch(stream: WatchedStream, source: StatusSource): Promise<void> {
    const { signal } = this.#stopped
    let before: readonly Claim[] = []
    while (!signal.aborted) {
      const askedAt = performance.now()
      const within = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)])
      const reported = await source.ask(stream, within).catch(() => undefined)
      if (reported === undefined) this.unanswered += 1
      else this.answers += 1
      const claims = reported === undefined ? [] : falseClaims(stream, reported, askedAt)
      for (const claim of claims) {
        if (before.some(({ what }) => what === claim.what)) this.#add(stream.name, source.name, claim)
      }
      before = claims
      await delay(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }

  #add(stream: string, source: string, { what, ms }: Claim): void {
    const text = `${source}: ${what}`
    const last = this.contradictions.findLast((one) => one.phase === this.phase && one.what.startsWith(text))
    if (last === undefined) {
      this.contradictions.push({ phase: this.phase, stream, what: `${text} ${(ms / 1_000).toFixed(1)} s`, times: 1 })
    } else last.times += 1
  }
}

interface Claim {
  readonly what: string
  /** How long it has been wrong. */
  readonly ms: number
}

/** The reported statuses that contradict what the destinations received. */
function falseClaims({ name, sinks }: WatchedStream, reported: ReportedStatus, now: number): Claim[] {
  const claims: Claim[] = []
  const quietMs: number[] = []
  for (const { name: destination, status } of reported.destinations) {
    const sink = sinks[destination]
    if (sink === undefined) continue
    const quiet = now - lastArrival(sink)
    quietMs.push(quiet)
    if (FLOWING.includes(status) && reported.status === 'live' && quiet > CLAIM_MS) {
      claims.push({ what: `${destination} is reported as ${status}, but has received nothing for`, ms: quiet })
    }
    const since = flowsSince(sink, now, PAUSE_MS)
    if (CUT_OFF.includes(status) && since !== null && now - since > CLAIM_MS) {
      claims.push({ what: `${destination} is reported as ${status}, but has received media for`, ms: now - since })
    }
  }
  const quiet = Math.min(...quietMs)
  if (reported.status === 'live' && reported.at !== null && quiet > CLAIM_MS) {
    claims.push({ what: `${name} is reported as live, but no destination has received anything for`, ms: quiet })
  }
  return claims
}
