/**
 * The vocabulary of the actor runtime. An actor is a mailbox with one owner; a command is plain data, so that it can
 * wait in a queue, be retried under the same operation id, or cross to the node that owns the actor.
 */

export interface Command {
  /** For example `ws:0190…`. */
  readonly actor: string
  /** Names this attempt and every repetition of it: the same operation id never has two effects. */
  readonly operationId: string
  /** Whose waiting commands are counted together; a noisy caller fills its own share only. */
  readonly caller: string
  /** On the runtime's monotonic clock, milliseconds. A command that waits past it is dropped unexecuted. */
  readonly deadline: number
  /** `control` goes before user traffic. */
  readonly priority?: 'control' | 'normal'
  readonly payload: unknown
}

export type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

/** What the runtime needs from its host: claims and transactions. */
export interface ActorHost {
  /** Mints the next epoch of an actor. Whoever held an earlier one can no longer commit. */
  activate(actor: string): Promise<number>
  /**
   * Runs commands in order inside one transaction that commits only under `epoch`.
   * @returns one outcome a command; a command that failed cleanly left nothing behind
   * @throws FencedError when the epoch is no longer the actor's; BatchError when no command is to blame; any other error
   *   when the whole batch was rolled back and its commands may run again one by one
   */
  execute(actor: string, epoch: number, commands: readonly Command[]): Promise<readonly Outcome[]>
}

/** The port through which the service runs turns. In-process here; several nodes put a driver behind the same port. */
export interface Actors {
  /** Resolves with the command's value after its transaction has committed. */
  run(command: Command): Promise<unknown>
  stats(): ActorStats
  /** Takes no more commands, finishes those that wait, at most `withinMs`. */
  close(withinMs: number): Promise<void>
}

export interface ActorStats {
  readonly active: number
  readonly waiting: number
  readonly activations: number
  readonly turns: number
  readonly batches: number
  readonly fenced: number
  readonly overloaded: number
  readonly expired: number
  readonly quarantined: readonly string[]
}

/** The actor has another owner by now: nothing was committed. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/**
 * A whole batch failed, and running its commands one by one would not help or could do them twice: the store is away,
 * for example. Every command is rejected with `reason`.
 */
export class BatchError extends Error {
  override readonly name = 'BatchError'
  readonly reason: unknown

  constructor(reason: unknown) {
    super('the whole batch failed', { cause: reason })
    this.reason = reason
  }
}

/** Why a command was not taken; nothing of it was executed. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly reason: 'overloaded' | 'expired' | 'closed' | 'quarantined'
  /** Seconds after which it makes sense to come again. */
  readonly retryAfter: number

  constructor(reason: RefusedError['reason'], retryAfter = 1) {
    super(`command refused: ${reason}`)
    this.reason = reason
    this.retryAfter = retryAfter
  }
}
