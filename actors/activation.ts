import type { Call } from './calls.ts'
import type { ActorLimits } from './limits.ts'
import { Mailbox } from './mailbox.ts'

/** An actor that runs here, or did until a moment ago. */
export interface Activation {
  readonly key: string
  readonly mailbox: Mailbox
  epoch: number | undefined
  running: boolean
  usedAt: number
  /** Starts no further batch. */
  gone: boolean
  /** Its transaction hangs. Only its success still counts. */
  abandoned: boolean
  /** When the host was called. */
  hostSince: number | undefined
  taken: readonly Call[]
  whenStill: (() => void) | undefined
  /** Answers the commands of a committed batch. Undefined afterwards. */
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
