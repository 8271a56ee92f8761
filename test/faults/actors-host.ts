import { Pool, type PoolClient } from 'pg'
import {
  BatchError,
  FencedError,
  UnknownOutcomeError,
  type ActorHost,
  type Command,
  type Outcome,
} from '../../actors/index.ts'

/** The tables of a minimal correct host. */
export const TABLES = `
  create table actor_fence (key text primary key, epoch bigint not null default 1, seq bigint not null default 0);
  create table log (actor text, seq bigint, op text not null, epoch bigint not null, node text not null, primary key (actor, seq));
  create table turn_outcomes (actor text not null, at timestamptz not null default now(), operations text[] not null, outcomes jsonb not null);
  create index turn_outcomes_by_actor on turn_outcomes (actor, at);
`

interface OutcomeRow {
  readonly operations: string[]
  readonly outcomes: number[]
}

/**
 * Appends to a log in PostgreSQL. As actors/README.md requires of a host, it first locks the fence, stores outcomes in the
 * same transaction (one row per batch), and looks up repeated operations while it holds the lock.
 */
export class PostgresHost implements ActorHost {
  readonly remembersOutcomes = true
  readonly #pool: Pool
  readonly #node: string

  constructor(url: string, node: string, leaseMs: number) {
    this.#node = node
    this.#pool = new Pool({
      connectionString: url,
      max: 6,
      connectionTimeoutMillis: Math.max(1_500, leaseMs * 0.3),
      query_timeout: Math.max(4_000, leaseMs * 0.3),
      keepAlive: true,
      // Releases the lock of a stopped owner before its lease expires.
      options: `-c idle_in_transaction_session_timeout=${leaseMs * 0.6} -c statement_timeout=${Math.max(8_000, leaseMs * 0.3)}`,
    })
    this.#pool.on('error', () => undefined)
  }

  async activate(actor: string): Promise<number> {
    const { rows } = await this.#pool.query<{ epoch: string }>(
      `insert into actor_fence (key) values ($1)
       on conflict (key) do update set epoch = actor_fence.epoch + 1 returning epoch`,
      [actor],
    )
    return Number(rows[0]?.epoch)
  }

  async execute(actor: string, epoch: number, commands: readonly Command[]): Promise<readonly Outcome[]> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw new BatchError(error)
    })
    let committing = false
    let failure: Error | undefined
    client.on('error', ignoreError)
    try {
      await client.query('begin')
      const outcomes = await this.#run(client, actor, epoch, commands)
      committing = true
      await client.query('commit')
      return outcomes
    } catch (error) {
      failure = error as Error
      if (!(error instanceof FencedError)) throw committing ? new UnknownOutcomeError(error) : new BatchError(error)
      await client.query('rollback').then(
        () => (failure = undefined),
        () => undefined,
      )
      throw error
    } finally {
      client.off('error', ignoreError)
      client.release(failure)
    }
  }

  async #run(
    client: PoolClient,
    actor: string,
    epoch: number,
    commands: readonly Command[],
  ): Promise<readonly Outcome[]> {
    const fence = await client.query<{ seq: string }>(
      'update actor_fence set seq = seq where key = $1 and epoch = $2 returning seq',
      [actor, epoch],
    )
    if (fence.rows[0] === undefined) throw new FencedError(`epoch ${epoch} of ${actor} is outdated`)
    const known = await this.#known(client, actor, commands)
    let seq = Number(fence.rows[0].seq)
    const added: { op: string; seq: number }[] = []
    const outcomes = commands.map(({ operationId: op }): Outcome => {
      const value = known.get(op)
      if (value !== undefined) return { ok: true, value }
      seq += 1
      added.push({ op, seq })
      return { ok: true, value: seq }
    })
    if (added.length === 0) return outcomes
    await client.query(
      `with updated as (update actor_fence set seq = $2 where key = $1),
            stored as (insert into turn_outcomes (actor, operations, outcomes) values ($1, $3, $5))
       insert into log (actor, seq, op, epoch, node) select $1, s, o, $6, $7 from unnest($3::text[], $4::bigint[]) as t (o, s)`,
      [
        actor,
        seq,
        added.map((row) => row.op),
        added.map((row) => row.seq),
        JSON.stringify(added.map((row) => row.seq)),
        epoch,
        this.#node,
      ],
    )
    return outcomes
  }

  async #known(client: PoolClient, actor: string, commands: readonly Command[]): Promise<Map<string, number>> {
    const known = new Map<string, number>()
    const repeated = commands.filter((command) => command.repeated).map((command) => command.operationId)
    if (repeated.length === 0) return known
    const { rows } = await client.query<OutcomeRow>(
      `select operations, outcomes from turn_outcomes
       where actor = $1 and at > now() - interval '15 minutes' and operations && $2`,
      [actor, repeated],
    )
    for (const row of rows) row.operations.forEach((op, index) => known.set(op, row.outcomes[index] as number))
    return known
  }

  async probe(): Promise<void> {
    await this.#pool.query('select 1')
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** Ignores the error, because a broken connection also fails its current query. */
function ignoreError(): void {}
