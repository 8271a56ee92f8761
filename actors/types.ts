import type { HistogramData } from './histogram.ts'

/**
 * The types of the actor runtime. An actor is a mailbox with one owner. A command is plain data: it can wait in a queue, be
 * sent again with the same operation id, or be forwarded to the node that owns the actor.
 */

export interface Command {
  /** For example `ws:0190…`. */
  readonly actor: string
  /** Identifies the command and all its repetitions, which have at most one effect together. */
  readonly operationId: string
  /** Waiting commands are limited per caller, so that one caller cannot fill a mailbox. */
  readonly caller: string
  /**
   * In milliseconds on the monotonic clock of the runtime. A command that waits longer is dropped without having
   * run.
   */
  readonly deadline: number
  /** `control` commands run before user traffic. */
  readonly priority?: 'control' | 'normal'
  /**
   * Set by the runtime when an earlier attempt may have taken effect. A host that stores outcomes looks up the operation
   * id, and returns the stored outcome instead of running the command.
   */
  readonly repeated?: boolean
  readonly payload: unknown
}

export type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

/** What the runtime needs from its host: claims and transactions. */
export interface ActorHost {
  /**
   * Whether `execute` stores operation ids and outcomes in its transaction, and looks up commands that are `repeated`. If
   * not, a command with an unknown outcome is refused as `unknown` and never sent again.
   */
  readonly remembersOutcomes?: boolean
  /** Starts the next epoch of an actor. Owners with an earlier epoch can no longer commit. */
  activate(actor: string): Promise<number>
  /**
   * Runs commands in order inside one transaction that commits only under `epoch`.
   * @returns one outcome per command; a command with an error outcome has written nothing
   * @throws FencedError when the epoch is no longer the actor's; UnknownOutcomeError when the reply to the commit was lost;
   *   BatchError when no command is to blame; any other error when the whole batch was rolled back and its commands
   *   may run again one by one
   */
  execute(actor: string, epoch: number, commands: readonly Command[]): Promise<readonly Outcome[]>
  /**
   * Called when an actor is released and its last batch here has ended. The next owner starts after this has resolved, or
   * after 200 ms.
   */
  release?(actor: string): Promise<void>
  /**
   * Called when an actor is no longer active here: it was idle, handed over, abandoned or lost. It starts again with another epoch,
   * so what the host keeps in memory for it is of no further use.
   */
  dropped?(actor: string): void
  /**
   * Rejects while this node cannot commit. The driver for several nodes calls it every second, and hands the actors of an
   * impaired node over to others.
   */
  probe?(): Promise<unknown>
}

/** The port through which the service runs turns: `LocalActors` for one node, `ClusterActors` for several. */
export interface Actors {
  /**
   * Resolves with the command's value after its transaction has committed.
   * @throws RefusedError, or the error of the command
   */
  run(command: Command): Promise<unknown>
  stats(): ActorStats
  /** The owners of actors on all nodes. For administrators; too imprecise for decisions. */
  owners(): Promise<readonly NodeOwnership[]>
  /**
   * Hands all actors over to other nodes within `withinMs`, and still accepts commands for them. The first step when a
   * node stops. Does nothing in a single process.
   */
  leave(withinMs: number): Promise<void>
  /** Refuses new commands, and finishes or hands over waiting ones within `withinMs`. */
  close(withinMs: number): Promise<void>
}

export interface ActorStats {
  /** Actors with a mailbox on this node. */
  readonly active: number
  /** Commands that wait, run here, or were forwarded. */
  readonly waiting: number
  readonly activations: number
  readonly turns: number
  readonly batches: number
  readonly fenced: number
  readonly overloaded: number
  readonly expired: number
  /** Commands that were refused because their outcome could not be determined in time. */
  readonly unknown: number
  readonly quarantined: readonly string[]
  /** Milliseconds from arrival to reply, for commands that ran here. */
  readonly latency: HistogramData
  /** Turns that shared a transaction. */
  readonly batchSize: HistogramData
  /** Set by the driver for several nodes. */
  readonly cluster?: ClusterStats
}

export interface ClusterStats {
  readonly inc: string
  readonly address: string
  readonly state: string
  /** Whether the node may run its actors now. */
  readonly live: boolean
  /** Milliseconds until the node stops running actors, if no heartbeat succeeds. */
  readonly leaseLeftMs: number
  readonly lostLeases: number
  /** Actors that this node owns. */
  readonly owned: number
  readonly nodes: number
  readonly forwarded: number
  /** Commands from other nodes. */
  readonly received: number
  /** Commands that were sent again with the same operation id. */
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
  /** False if the node did not reply in time. `actors` is then empty. */
  readonly reachable: boolean
  readonly actors: readonly OwnedActor[]
}

export interface OwnedActor {
  readonly actor: string
  /** Absent before the first turn. */
  readonly epoch?: number
  readonly waiting: number
}

/** The actor has another owner by now. Nothing was committed. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/**
 * A whole batch failed, and running its commands one by one would not help or could run them twice, for example while
 * the database is unreachable. All commands are rejected with `reason`.
 */
export class BatchError extends Error {
  override readonly name = 'BatchError'
  readonly reason: unknown

  constructor(reason: unknown) {
    super('the whole batch failed', { cause: reason })
    this.reason = reason
  }
}

/**
 * The commit of a batch was sent, but no reply arrived. All commands are looked up again, or rejected with `reason`.
 */
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
 * Why a command was refused. It has not run, except for `unknown`: its deadline passed before its outcome could be
 * determined.
 */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly reason: RefusalReason
  /** Seconds after which to try again. */
  readonly retryAfter: number

  constructor(reason: RefusalReason, retryAfter = 1) {
    super(`command refused: ${reason}`)
    this.reason = reason
    this.retryAfter = retryAfter
  }
}
