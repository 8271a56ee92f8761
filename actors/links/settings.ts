import type { RandomSource, RuntimeClock, Transport } from '../ports.ts'

/** Bounds and times of links. */
export interface LinkLimits {
  /** Commands that may be under way on one link; control is not counted. */
  readonly inFlight: number
  /** Bytes that may wait to leave the process before further frames wait in the link. */
  readonly highWater: number
  /** Milliseconds between pings. */
  readonly pingMs: number
  /** Milliseconds without a sign of life after which a link is given up. */
  readonly silenceMs: number
  /** Milliseconds that connecting and the handshake may take. */
  readonly handshakeMs: number
  /** Connections of strangers that are listened to at the same time. */
  readonly strangers: number
}

export const DEFAULT_LINK_LIMITS: LinkLimits = {
  inFlight: 2_048,
  highWater: 1 << 20,
  pingMs: 1_000,
  silenceMs: 3_000,
  handshakeMs: 2_000,
  strangers: 64,
}

export interface LinkSettings {
  readonly transport: Transport
  readonly clock: RuntimeClock
  readonly random: RandomSource
  readonly secret: string
  readonly limits: LinkLimits
  readonly onError: (error: unknown) => void
}
