import { sql } from 'kysely'
import type { ClientBase } from 'pg'

/** The parameter of each session that names its history. */
export const HISTORY = 'crier.history'

/**
 * The `Generation` of what a statement returns, as an expression. The session names its own history, so the value never
 * belongs to another server than the rows. A restore of a dump makes the tables new, with another id.
 */
export const generation = sql<string>`concat(current_setting('${sql.raw(HISTORY)}', true), '-', 'actor_fence'::regclass::oid)`

// Written by hand: functions of the server. A control file names the timeline of the last checkpoint, which a promoted standby
// writes later, so the timeline is read from the name of the current segment of the write-ahead log.
const READ = `select left(md5(system_identifier || '/' || case when pg_is_in_recovery() then 'standby'
  else left(pg_walfile_name(pg_current_wal_lsn()), 8) end), 12) as history from pg_control_system()`

/** SQLSTATE: no permission, no such function, not supported. Some providers close these functions. */
const CLOSED = new Set(['42501', '42883', '0A000'])
const UNKNOWN = 'unknown'

/**
 * The history that the sessions of a pool belong to. Another server, a promoted standby and a restored base backup each
 * begin a new one: they may lack what was committed, and number other changes in the same way.
 */
export class DatabaseHistory {
  readonly #of = new WeakMap<ClientBase, string>()
  readonly #listeners: (() => void)[] = []
  #current: string | undefined

  /** Adds a listener that runs when a session has another history than the ones before it, before it is used. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Reads the history of a new session. @returns it, as 12 hexadecimal digits */
  async read(client: ClientBase): Promise<string> {
    try {
      const { rows } = await client.query<{ history: string }>(READ)
      return rows[0]?.history ?? UNKNOWN
    } catch (error) {
      if (CLOSED.has((error as { code?: string }).code ?? '')) return UNKNOWN
      throw error
    }
  }

  /** Records the history of a session that is ready. */
  join(client: ClientBase, history: string): void {
    this.#of.set(client, history)
    const previous = this.#current
    this.#current = history
    if (previous !== undefined && previous !== history) for (const listener of this.#listeners) listener()
  }

  /** Whether a session has the newest history. Others are of a server that was replaced. */
  isCurrent(client: ClientBase): boolean {
    return this.#of.get(client) === this.#current
  }
}
