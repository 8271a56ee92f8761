import type { HistogramData } from './histogram.ts'

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
  /**
   * Set by the runtime: an earlier attempt may have taken effect. A host that remembers outcomes looks the operation id
   * up, and answers what it finds instead of running the command.
   */
  readonly repeated?: boolean
  readonly payload: unknown
}

export type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

/** What the runtime needs from its host: claims and transactions. */
export interface ActorHost {
  /**
   * Whether `execute` keeps each command's operation id and outcome in its transaction and looks up those that are
   * `repeated`. Without it a command whose outcome is unknown is refused as `unknown` and never sent again.
   */
  readonly remembersOutcomes?: boolean
  /** Mints the next epoch of an actor. Whoever held an earlier one can no longer commit. */
  activate(actor: string): Promise<number>
  /**
   * Runs commands in order inside one transaction that commits only under `epoch`.
   * @returns one outcome a command; a command that failed cleanly left nothing behind
   * @throws FencedError when the epoch is no longer the actor's; UnknownOutcomeError when the commit was not answered;
   *   BatchError when no command is to blame; any other error when the whole batch was rolled back and its commands
   *   may run again one by one
   */
  execute(actor: string, epoch: number, commands: readonly Command[]): Promise<readonly Outcome[]>
  /**
   * The actor is given up: its last batch here has ended, and its next owner is not asked before this has resolved, or
   * 200 ms later.
   */
  release?(actor: string): Promise<void>
  /**
   * Rejects when this node cannot commit at the moment. Asked every second by the driver for several nodes, which hands
   * the actors of an impaired node to those that can.
   */
  probe?(): Promise<unknown>
}

/** The port through which the service runs turns: `LocalActors` for one node, `ClusterActors` for several. */
export interface Actors {
  /**
   * Resolves with the command's value after its transaction has committed.
   * @throws RefusedError, or whatever the command failed with
   */
  run(command: Command): Promise<unknown>
  stats(): ActorStats
  /** Who owns what, on every node: an answer for administrators, not for decisions. */
  owners(): Promise<readonly NodeOwnership[]>
  /**
   * Gives every actor to the nodes that stay, at most `withinMs`, and goes on taking commands for them: the first thing
   * to do when a node is about to stop. Does nothing in a process that is alone.
   */
  leave(withinMs: number): Promise<void>
  /** Takes no more commands, finishes or hands over those that wait, at most `withinMs`. */
  close(withinMs: number): Promise<void>
}

export interface ActorStats {
  /** Actors with a mailbox on this node. */
  readonly active: number
  /** Commands that wait or run here, or are forwarded from here. */
  readonly waiting: number
  readonly activations: number
  readonly turns: number
  readonly batches: number
  readonly fenced: number
  readonly overloaded: number
  readonly expired: number
  /** Commands that were refused because nobody could say in time whether they had taken effect. */
  readonly unknown: number
  readonly quarantined: readonly string[]
  /** Milliseconds from arrival to answer, of commands that ran here. */
  readonly latency: HistogramData
  /** Turns that shared a transaction. */
  readonly batchSize: HistogramData
  /** Of the driver for several nodes. */
  readonly cluster?: ClusterStats
}

export interface ClusterStats {
  readonly inc: string
  readonly address: string
  readonly state: string
  /** Whether the node may act for its actors at this moment. */
  readonly live: boolean
  /** Milliseconds until the node fences itself, if no beat gets through. */
  readonly leaseLeftMs: number
  readonly lostLeases: number
  /** Actors that this node owns. */
  readonly owned: number
  readonly nodes: number
  readonly forwarded: number
  /** Commands from other nodes. */
  readonly received: number
  /** Commands that were sent again under the same operation id. */
  readonly resent: number
  readonly handedOver: number
  readonly links: readonly LinkStats[]
}

export interface LinkStats {
  readonly address: string
  readonly state: 'connecting' | 'open' | 'closed'
  readonly inFlight: number
  readonly buffered: number
}

export interface NodeOwnership {
  readonly inc: string
  readonly address: string
  readonly state: string
  /** false: it did not answer in time, and `actors` is empty. */
  readonly reachable: boolean
  readonly actors: readonly OwnedActor[]
}

export interface OwnedActor {
  readonly actor: string
  /** Absent before the first turn. */
  readonly epoch?: number
  readonly waiting: number
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

/** The commit of a batch was sent and not answered. Every command is asked about again, or rejected with `reason`. */
export class UnknownOutcomeError extends Error {
  override readonly name = 'UnknownOutcomeError'
  readonly reason: unknown

  constructor(reason: unknown) {
    super('a commit was not answered', { cause: reason })
    this.reason = reason
  }
}

export type RefusalReason = 'overloaded' | 'expired' | 'closed' | 'quarantined' | 'not_live' | 'unknown'

/**
 * Why a command was not taken. Nothing of it was executed, except for `unknown`: its time was over before anybody could
 * say whether it had taken effect.
 */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly reason: RefusalReason
  /** Seconds after which it makes sense to come again. */
  readonly retryAfter: number

  constructor(reason: RefusalReason, retryAfter = 1) {
    super(`command refused: ${reason}`)
    this.reason = reason
    this.retryAfter = retryAfter
  }
}
