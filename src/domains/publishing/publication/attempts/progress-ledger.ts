import type { Sql } from '../../../../core/sql.ts'

/** Changed columns of a segment. Times are ISO 8601. */
export interface SegmentChange {
  readonly state?: object | null
  readonly status?: string
  readonly called_at?: string | null
  readonly sent_by?: string | null
  readonly remote?: object
  readonly published_at?: string
}

/** A write of an attempt. It extends the lease of the attempt, and changes a segment. */
export interface ProgressWrite {
  readonly targetId: string
  readonly attemptId: string
  /** ISO 8601. */
  readonly at: string
  /** When the lease ends then, ISO 8601. */
  readonly until: string
  readonly segmentId?: string
  readonly change?: SegmentChange
}

interface Entry {
  readonly write: ProgressWrite
  readonly resolve: (isOwner: boolean) => void
  readonly reject: (error: unknown) => void
}

/** The maximum number of writes in a statement. */
const AT_ONCE = 500

// Written by hand: the check of the lease and the write must be one step, so they are one statement, which changes columns
// that JSON names (`npm run bench:publishing`).
const statement = (lock: 'for update of t' | 'for update of t skip locked') => `
  with w as materialized (
    select * from jsonb_to_recordset($1::jsonb)
      as w (n integer, "targetId" uuid, "attemptId" uuid, at timestamptz, until timestamptz, "segmentId" uuid, change jsonb)),
  owned as materialized (
    select w.* from w join post_targets t on t.id = w."targetId"
    where t.attempt_id = w."attemptId" and t.lease_until > w.at ${lock}),
  extended as (
    update post_targets t set lease_until = o.until from owned o where t.id = o."targetId" returning o.n),
  written as (
    update post_segments s set
      state = case when o.change ? 'state' then nullif(o.change -> 'state', 'null') else s.state end,
      status = coalesce(o.change ->> 'status', s.status),
      called_at = case when o.change ? 'called_at' then (o.change ->> 'called_at')::timestamptz else s.called_at end,
      sent_by = case when o.change ? 'sent_by' then (o.change ->> 'sent_by')::timestamptz else s.sent_by end,
      remote = coalesce(o.change -> 'remote', s.remote),
      published_at = coalesce((o.change ->> 'published_at')::timestamptz, s.published_at),
      updated_at = o.at
    from owned o join extended e using (n) where s.id = o."segmentId" and s.target_id = o."targetId"
    returning o.n)
  select n from written union all select o.n from owned o join extended e using (n) where o."segmentId" is null`

const WAITS = statement('for update of t')
/** Skips locked rows instead of waiting while it holds other locks, so that it cannot deadlock. */
const SKIPS = statement('for update of t skip locked')

/**
 * Stores the progress of attempts. Writes that are wanted during a round trip share the next one, so many attempts at
 * the same time cost little more than one. A write succeeds only while its attempt owns the target.
 */
export class ProgressLedger {
  readonly #sql: Sql
  #entries: Entry[] = []
  #busy = false

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** @returns false if the attempt does not own the target any more, or its segment is gone */
  write(write: ProgressWrite): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ write, resolve, reject })
      if (this.#busy) return
      this.#busy = true
      // Writes of the same event loop turn join this statement.
      setImmediate(() => void this.#drain())
    })
  }

  async #drain(): Promise<void> {
    while (this.#entries.length > 0) {
      const entries = this.#entries.splice(0, AT_ONCE)
      const [only] = entries
      if (entries.length === 1 && only !== undefined) void this.#alone(only)
      else await this.#together(entries)
    }
    this.#busy = false
  }

  async #together(entries: readonly Entry[]): Promise<void> {
    let written = new Set<number>()
    try {
      written = await this.#run(SKIPS, entries)
    } catch {
      // One of them must not keep back the others.
    }
    for (const [n, entry] of entries.entries()) {
      if (written.has(n)) entry.resolve(true)
      // It is not the owner, or another statement has locked the target.
      else void this.#alone(entry)
    }
  }

  async #alone(entry: Entry): Promise<void> {
    try {
      entry.resolve((await this.#run(WAITS, [entry])).size > 0)
    } catch (error) {
      entry.reject(error)
    }
  }

  async #run(text: string, entries: readonly Entry[]): Promise<Set<number>> {
    const rows = entries.map(({ write }, n) => ({ n, ...write }))
    const written = await this.#sql.rows<{ n: number }>(text, [JSON.stringify(rows)])
    return new Set(written.map(({ n }) => n))
  }
}
