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
export interface Told {
  readonly status: string
  /** When it was observed; null when the current status is unknown. */
  readonly at: string | null
  readonly destinations: readonly { readonly name: string; readonly status: string }[]
}

/** A source of statuses. */
export interface Teller {
  readonly name: string
  /** Undefined, or rejected, while it reports nothing. */
  readonly ask: (stream: WatchedStream, signal: AbortSignal) => Promise<Told | undefined>
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

  constructor(streams: readonly WatchedStream[], tellers: readonly Teller[]) {
    this.#runs = streams.flatMap((stream) => tellers.map((teller) => this.#watch(stream, teller)))
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#runs)
  }

  async #watch(stream: WatchedStream, teller: Teller): Promise<void> {
    const { signal } = this.#stopped
    let before: readonly Claim[] = []
    while (!signal.aborted) {
      const askedAt = performance.now()
      const within = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)])
      const told = await teller.ask(stream, within).catch(() => undefined)
      if (told === undefined) this.unanswered += 1
      else this.answers += 1
      const claims = told === undefined ? [] : falseClaims(stream, told, askedAt)
      for (const claim of claims) {
        if (before.some(({ what }) => what === claim.what)) this.#add(stream.name, teller.name, claim)
      }
      before = claims
      await delay(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }

  #add(stream: string, teller: string, { what, ms }: Claim): void {
    const text = `${teller}: ${what}`
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
function falseClaims({ name, sinks }: WatchedStream, told: Told, now: number): Claim[] {
  const claims: Claim[] = []
  const quietMs: number[] = []
  for (const { name: destination, status } of told.destinations) {
    const sink = sinks[destination]
    if (sink === undefined) continue
    const quiet = now - lastArrival(sink)
    quietMs.push(quiet)
    if (FLOWING.includes(status) && told.status === 'live' && quiet > CLAIM_MS) {
      claims.push({ what: `${destination} is told ${status}, and has had nothing for`, ms: quiet })
    }
    const since = flowsSince(sink, now, PAUSE_MS)
    if (CUT_OFF.includes(status) && since !== null && now - since > CLAIM_MS) {
      claims.push({ what: `${destination} is told ${status}, and has had media for`, ms: now - since })
    }
  }
  const quiet = Math.min(...quietMs)
  if (told.status === 'live' && told.at !== null && quiet > CLAIM_MS) {
    claims.push({ what: `${name} is told live, and no destination has had anything for`, ms: quiet })
  }
  return claims
}
