/** Limits of the runtime, for both drivers. */
export interface ActorLimits {
  /** Waiting commands per actor. */
  readonly perActor: number
  /** Waiting commands per actor and caller. */
  readonly perCaller: number
  /** Waiting commands on this node. */
  readonly perNode: number
  /** The most turns that share a transaction. */
  readonly batch: number
  /** Milliseconds without a command after which an actor is dropped. */
  readonly idleMs: number
  /** Failed activations within a minute that quarantine an actor. */
  readonly quarantineAfter: number
  /** Milliseconds after which a hanging transaction is abandoned, together with its actor. */
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
