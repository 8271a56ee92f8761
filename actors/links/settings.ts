import type { RandomSource, RuntimeClock, Transport } from '../ports.ts'

/** Limits and timeouts of links. */
export interface LinkLimits {
  /** Maximum number of calls in progress per link, without control commands. */
  readonly inFlight: number
  /** Unsent bytes of the socket above which frames are queued in the link. */
  readonly highWater: number
  /** Milliseconds between pings. */
  readonly pingMs: number
  /** Milliseconds without received frames after which a link is closed. */
  readonly silenceMs: number
  /** Time limit for connecting and the handshake, in milliseconds. */
  readonly handshakeMs: number
  /** Maximum number of unauthenticated connections. The oldest one is closed when there are more. */
  readonly maxUnauthenticated: number
}

export const DEFAULT_LINK_LIMITS: LinkLimits = {
  inFlight: 2_048,
  highWater: 1 << 20,
  pingMs: 1_000,
  silenceMs: 3_000,
  handshakeMs: 2_000,
  maxUnauthenticated: 64,
}

export interface LinkSettings {
  readonly transport: Transport
  readonly clock: RuntimeClock
  readonly random: RandomSource
  readonly secret: string
  readonly limits: LinkLimits
  readonly onError: (error: unknown) => void
}
