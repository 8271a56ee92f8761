import type { Call } from './calls.ts'
import type { ActorLimits } from './limits.ts'
import { Mailbox } from './mailbox.ts'

/** An actor that runs here, or ran here until just now. */
export interface Activation {
  readonly key: string
  readonly mailbox: Mailbox
  epoch: number | undefined
  running: boolean
  usedAt: number
  /** No further batch is started. */
  gone: boolean
  /** Its transaction hangs. Its result is used only if it succeeds. */
  abandoned: boolean
  /** When the host was called. */
  hostSince: number | undefined
  taken: readonly Call[]
  whenStill: (() => void) | undefined
  /** Sends the remaining replies to the last committed batch. Undefined if there are none. */
  answer: (() => void) | undefined
}

/** An actor that has not run yet. */
export function newActivation(key: string, limits: ActorLimits, now: number): Activation {
  return {
    key,
    mailbox: new Mailbox(limits.perActor, limits.perCaller),
    epoch: undefined,
    running: false,
    usedAt: now,
    gone: false,
    abandoned: false,
    hostSince: undefined,
    taken: [],
    whenStill: undefined,
    answer: undefined,
  }
}
