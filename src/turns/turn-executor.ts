import { setTimeout as delay } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import {
  BatchError,
  FencedError,
  UnknownOutcomeError,
  type ActorHost,
  type Command,
  type Outcome,
} from '../../actors/index.ts'
import type { Clock } from '../core/clock.ts'
import { isAway, OutcomeUnknown } from '../core/errors.ts'
import type { ContextFactory } from '../core/context.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import type { Logger } from '../core/log.ts'
import type { MainThread } from '../core/main-thread.ts'
import type { NamedOperation } from '../core/operation.ts'
import type { Reply } from '../core/reply.ts'
import type { Services } from '../core/services.ts'
import type { AnySystemTurn } from '../core/system-turn.ts'
import type { MemoryKey, Turn } from '../core/turn.ts'
import { uuidv7 } from '../tools/id.ts'
import { working, type Work } from '../tools/work-time.ts'
import type { Database } from '../db/database.ts'
import type { PreparedSql } from '../db/prepared-sql.ts'
import { query } from '../db/query.ts'
import { actorOf, workspaceOf } from './actor-name.ts'
import { isUnannounced, type Announcements } from './announcements.ts'
import { ActorMemories, type ActivationMemory } from './actor-memory.ts'
import { Batch } from './batch.ts'
import type { IdempotencyClaim, OperationTurn, TurnPayload } from './payload.ts'
import { RunningTurn, type JobOutlet } from './running-turn.ts'
import { fence } from './fence.ts'
import { endOf } from './batch-end.ts'
import { needsMember, type TurnAuthorizer } from './turn-authorizer.ts'
import { actorFence, auditLog } from './tables.ts'
import type { TurnOutcomes } from './turn-outcomes.ts'

export interface TurnExecutorOptions {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly operations: ReadonlyMap<string, NamedOperation>
  readonly systemTurns: ReadonlyMap<string, AnySystemTurn>
  /** Publishes committed events. Must not throw. */
  readonly publish: (workspaceId: string, events: readonly WorkspaceEvent[]) => void
  /** Announces committed events again if the node that committed them has died. */
  readonly announcements: Announcements
  /** Makes the rows of jobs that turns add, and is notified when they are committed. */
  readonly jobs: JobOutlet
  /** Stores a reply for its idempotency key, in the transaction of the turn. */
  readonly keepReply: (turn: Turn, operation: string, claim: IdempotencyClaim, reply: Reply) => void
  /** Set with several nodes: the outcomes of turns whose node died before it replied. */
  readonly outcomes?: TurnOutcomes
  /** Counts how long turns keep the main thread. */
  readonly thread?: MainThread
  /** Authorizes the caller of each turn again. */
  readonly turnAuthorizer?: TurnAuthorizer
}

/** A turn failed after it had written. The batch is rolled back, and its turns run one by one. */
class TouchedBatchError extends Error {
  override readonly name = 'TouchedBatchError'
}

/** Takes over an actor by raising its epoch. */
const takeOver = query({ actorFence }, (db, $: { key: string }) =>
  db
    .insertInto('actorFence')
    .values({ key: $.key })
    .onConflict((conflict) => conflict.column('key').doUpdateSet((e) => ({ epoch: e('actorFence.epoch', '+', 1) })))
    .returning(['key', 'epoch', 'batch', 'seq', 'unannouncedAfter']),
)

/** How often to look up the outcome of a commit that was not confirmed. */
const RESOLVE_TRIES = 30
const RESOLVE_PAUSE_MS = 200

/** One attempt to run a batch, and its progress. */
interface Attempt {
  readonly id: string
  readonly actor: string
  readonly epoch: number
  readonly outcomes: Outcome[]
  batch: Batch | undefined
  committing: boolean
}

/** Runs batches of turns: one transaction per batch, fenced by the actor's epoch, with events and audit entries. */
export class TurnExecutor implements ActorHost {
  readonly #options: TurnExecutorOptions
  #service: { readonly services: Services; readonly context: ContextFactory } | undefined
  readonly #memories = new ActorMemories()
  /**
   * Actors whose last commit was not confirmed. Whether it left events to announce is looked up at the next activation.
   */
  readonly #unsure = new Set<string>()
  /** Actors whose last batch was fenced, with its epoch, until they are activated again or dropped. */
  readonly #fenced = new Map<string, number>()

  constructor(options: TurnExecutorOptions) {
    this.#options = options
  }

  /** Sets the services that turns may call. Services need turns and turns need services, so this follows their construction. */
  serve(services: Services, context: ContextFactory): void {
    this.#service = { services, context }
  }

  get remembersOutcomes(): boolean {
    return this.#options.outcomes !== undefined
  }

  /** Drops what the turns of a workspace remember, or of all workspaces. For changes that are not made by a turn. */
  forget(workspaceId: string | undefined): void {
    if (workspaceId === undefined) this.#memories.forgetAll()
    else this.#memories.forget(actorOf(workspaceId))
  }

  /** Checks the connection to the database, to distinguish a node without one from a node with slow actors. */
  async probe(): Promise<void> {
    await this.#options.database.ping()
  }

  async activate(actor: string): Promise<number> {
    const { announcements, database } = this.#options
    const row = await takeOver.row(database, { key: actor })
    if (row === undefined) throw new Error('activation returned no row')
    if (isUnannounced(row)) await announcements.again(database, row, this.#unsure.has(actor))
    this.#unsure.delete(actor)
    // Another owner would have raised the epoch before this activation did. Nobody has, so the database went back.
    const fenced = this.#fenced.get(actor)
    this.#fenced.delete(actor)
    if (fenced !== undefined && row.epoch <= fenced + 1) announcements.wentBack(actor)
    return row.epoch
  }

  /** Called when this node releases an actor. */
  async release(actor: string): Promise<void> {
    await this.#options.announcements.release(actor)
  }

  /** Called when an actor is no longer active on this node. */
  dropped(actor: string): void {
    this.#memories.drop(actor)
    this.#fenced.delete(actor)
  }

  async execute(actor: string, epoch: number, commands: readonly Command[]): Promise<readonly Outcome[]> {
    if (this.#unsure.has(actor)) throw new FencedError(`the outcome of the last batch of ${actor} is unknown`)
    const attempt: Attempt = {
      id: uuidv7(this.#options.clock.now()),
      actor,
      epoch,
      outcomes: [],
      batch: undefined,
      committing: false,
    }
    try {
      await this.#options.database.withClient((client, sql) => this.#transact(attempt, client, sql, commands))
    } catch (error) {
      if (error instanceof FencedError) {
        this.#memories.drop(actor)
        this.#fenced.set(actor, epoch)
      } else this.#memories.forget(actor)
      // If the connection to the database was lost, running the commands one by one would fail as well.
      if (!isAway(error)) throw error
      if (!attempt.committing || !(await this.#resolved(attempt))) throw new BatchError(error)
    }
    const { batch, outcomes } = attempt
    const notified = (batch?.afterCommit ?? []).map((action) => this.#notify(action))
    if (batch?.events.length) this.#options.publish(workspaceOf(actor), batch.events)
    await Promise.all(notified)
    this.#options.announcements.announced(actor, attempt.id)
    return outcomes
  }

  async #resolved(attempt: Attempt): Promise<boolean> {
    try {
      const isCommitted = await this.#wasCommitted(attempt)
      if (isCommitted) this.#memories.committed(attempt.actor, attempt.epoch, attempt.id)
      return isCommitted
    } catch (error) {
      this.#memories.drop(attempt.actor)
      this.#unsure.add(attempt.actor)
      throw error
    }
  }

  async #transact(attempt: Attempt, client: PoolClient, sql: PreparedSql, commands: readonly Command[]): Promise<void> {
    const { actor, epoch } = attempt
    const workspaceId = workspaceOf(actor)
    const memory = this.#memories.of(actor, epoch)
    const { database, outcomes } = this.#options
    const { fencing, reading } = database.inOnePiece(client, () => {
      const begun = client.query('begin')
      const held = fence(sql, attempt, memory)
      return {
        fencing: Promise.all([held, begun]),
        // Sent without waiting for the lock. PostgreSQL runs statements in order, so the reads follow the lock.
        reading: this.#readFirst(workspaceId, sql, memory, actor, commands),
      }
    })
    fencing.catch(() => undefined)
    try {
      const { known, fresh } = await reading
      const seq = memory.seq ?? (await fencing)[0]
      const batch = new Batch(database, client, sql)
      attempt.batch = batch
      const made: Outcome[] = []
      for (const command of fresh) {
        batch.sendAhead()
        made.push(await this.#runOne(workspaceId, seq, batch, memory, command, fresh.length > 1))
      }
      const next = made.values()
      attempt.outcomes.push(...commands.map((one) => known?.get(one.operationId) ?? (next.next().value as Outcome)))
      // All are built before the first one is sent, so that no error on our side can leave some of them out.
      const writes = [...batch.pending.take(), ...endOf(actor, batch, outcomes?.kept(fresh, made))]
      attempt.committing = true
      await database.commit(client, sql, writes, Promise.all([fencing, batch.settled()]))
      memory.seq = seq + batch.numbered
      this.#memories.committed(actor, epoch, attempt.id)
    } catch (error) {
      // Wait for both. If the fence has failed, it is the cause of any later failure.
      const [fenced] = await Promise.allSettled([fencing, reading])
      throw fenced.status === 'rejected' && !attempt.committing ? fenced.reason : error
    }
  }

  async #readFirst(
    workspaceId: string,
    sql: PreparedSql,
    memory: ActivationMemory,
    actor: string,
    commands: readonly Command[],
  ): Promise<{ known: ReadonlyMap<string, Outcome> | undefined; fresh: readonly Command[] }> {
    const asked = commands.some(({ repeated }) => repeated)
    const known = asked ? await this.#options.outcomes?.find(sql, actor, commands) : undefined
    const fresh = known ? commands.filter(({ operationId }) => !known.has(operationId)) : commands
    await this.#prelude(workspaceId, sql, memory, fresh)
    return { known, fresh }
  }

  /**
   * Whether a batch whose commit was not confirmed took effect. If so, the actor's row holds its id. The row can only
   * be locked after the lost transaction has ended.
   * @throws UnknownOutcomeError when the database stays unreachable or the actor has another owner by now
   */
  async #wasCommitted(attempt: Attempt): Promise<boolean> {
    const { database } = this.#options
    for (let tries = 1; ; tries += 1) {
      try {
        const fenced = { key: attempt.actor, epoch: attempt.epoch }
        const row = await actorFence.first(database, fenced, { columns: ['batch'], lock: 'for update' })
        if (row === undefined) throw new UnknownOutcomeError(OutcomeUnknown({ retryAfter: 2 }))
        return row.batch === attempt.id
      } catch (error) {
        if (!isAway(error)) throw error
        if (tries === RESOLVE_TRIES) throw new UnknownOutcomeError(OutcomeUnknown({ retryAfter: 2, cause: error }))
        await delay(RESOLVE_PAUSE_MS)
      }
    }
  }

  /** Runs the preludes of operations: reads that the turns of a batch share, before the first one. */
  async #prelude(
    workspaceId: string,
    sql: PreparedSql,
    memory: ActivationMemory,
    commands: readonly Command[],
  ): Promise<void> {
    const requests = new Map<NamedOperation, OperationTurn['context'][]>()
    const callers: string[] = []
    for (const command of commands) {
      const payload = command.payload as TurnPayload
      const operation = payload.kind === 'operation' ? this.#options.operations.get(payload.operation) : undefined
      if (payload.kind !== 'operation') continue
      if (needsMember(operation, payload)) callers.push(payload.context.caller.userId)
      if (operation?.prelude === undefined) continue
      const known = requests.get(operation)
      if (known) known.push(payload.context)
      else requests.set(operation, [payload.context])
    }
    const remembered = { workspaceId, sql, memory: <T>(key: MemoryKey<T>) => memory.get(key) }
    await this.#options.turnAuthorizer?.prepare(remembered, callers)
    for (const [operation, contexts] of requests) {
      await operation.prelude?.(contexts, { ...this.#served().services, ...remembered })
    }
  }

  async #runOne(
    workspaceId: string,
    seq: number,
    batch: Batch,
    memory: ActivationMemory,
    command: Command,
    shared: boolean,
  ): Promise<Outcome> {
    const payload = command.payload as TurnPayload
    const turn = new RunningTurn({
      workspaceId,
      caller: payload.kind === 'operation' ? payload.context.caller : undefined,
      batch,
      memory,
      seq,
      jobs: this.#options.jobs,
      at: new Date(this.#options.clock.now()).toISOString(),
    })
    try {
      const value = await this.#handle(payload, turn)
      if (payload.kind === 'operation') this.#record(turn, payload, value as Reply)
      turn.succeed()
      return { ok: true, value }
    } catch (error) {
      if (!turn.sql.touched) return { ok: false, error }
      if (shared && !isAway(error)) throw new TouchedBatchError('a turn failed after it had written', { cause: error })
      throw error
    }
  }

  async #handle(payload: TurnPayload, turn: Turn): Promise<unknown> {
    if (payload.kind === 'system') {
      const declared = this.#options.systemTurns.get(payload.name)
      if (declared === undefined) throw new Error(`there is no system turn ${payload.name}`)
      const { services } = this.#served()
      return working(this.#work(turn, payload), () => declared.run({ ...services, turn, input: payload.input }))
    }
    const operation = this.#options.operations.get(payload.operation)
    if (operation === undefined) throw new Error(`there is no operation ${payload.operation}`)
    const { turnAuthorizer } = this.#options
    const authorizes = turnAuthorizer !== undefined && needsMember(operation, payload)
    const member = authorizes ? await turnAuthorizer.member(operation, payload.context.caller, turn) : undefined
    const { context } = this.#served()
    return working(this.#work(turn, payload), () => operation.handle(context(payload.context, turn, member)))
  }

  /** The turn as work of its workspace and its caller. Nobody waits for the share of a system turn. */
  #work({ workspaceId }: Turn, payload: TurnPayload): Work {
    const [name, tenants] =
      payload.kind === 'system' ? [payload.name, []] : [payload.operation, [workspaceId, payload.context.caller.userId]]
    return { spent: (ms) => this.#options.thread?.spent(name, tenants, ms) }
  }

  #served(): { readonly services: Services; readonly context: ContextFactory } {
    if (this.#service === undefined) throw new Error('a turn ran before the services were composed')
    return this.#service
  }

  /** Writes the audit entry, and the reply for repeated requests with the same idempotency key. */
  #record(turn: RunningTurn, payload: OperationTurn, reply: Reply): void {
    const { at, audits, workspaceId } = turn
    const { context, idempotency } = payload
    if (payload.audited || audits.length > 0) {
      for (const target of audits.length > 0 ? audits : [undefined]) {
        turn.insert(auditLog, {
          id: uuidv7(this.#options.clock.now()),
          workspaceId,
          actorId: context.caller.userId,
          actorVia: context.caller.via,
          apiKeyId: context.caller.apiKey?.id ?? null,
          action: payload.operation,
          targetKind: target?.kind ?? null,
          targetId: target?.id ?? null,
          details: target?.details ?? null,
          remoteAddress: context.remoteAddress,
          userAgent: context.userAgent,
          requestId: context.requestId,
          createdAt: at,
        })
      }
    }
    if (idempotency) this.#options.keepReply(turn, payload.operation, idempotency, reply)
  }

  async #notify(action: () => void | Promise<void>): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.#options.log.error({ error }, 'an action after a commit failed')
    }
  }
}
