/** Bounds of the runtime; both drivers take them. */
export interface ActorLimits {
  /** Commands that may wait for one actor. */
  readonly perActor: number
  /** Of those, commands of one caller. */
  readonly perCaller: number
  /** Commands that may wait on this node. */
  readonly perNode: number
  /** Turns that share a transaction at most. */
  readonly batch: number
  /** Milliseconds without a command after which an actor is forgotten. */
  readonly idleMs: number
  /** Failed activations within a minute that quarantine an actor. */
  readonly quarantineAfter: number
  /** Milliseconds after which a transaction that has not ended is left to itself, and its actor with it. */
  readonly stallMs: number
}

export const DEFAULT_LIMITS: ActorLimits = {
  perActor: 256,
  perCaller: 32,
  perNode: 4096,
  batch: 64,
  idleMs: 120_000,
  quarantineAfter: 3,
  stallMs: 5_000,
}
