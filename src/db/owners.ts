import type { Owners } from '../core/ports.ts'
import { isUuid } from '../core/id.ts'
import type { Sql } from '../core/sql.ts'

const KEPT = 50_000
const NAME = /^[a-z_]+$/

/** Finds the workspace of a value, as far as the user who names it may know of it. */
type WorkspaceLookup = (value: string, userId: string | undefined) => Promise<string | undefined>

/**
 * Which workspace a row belongs to. Rows never move between workspaces, so what was found once is kept; what was not
 * found is asked again, because it may be made a moment later.
 */
export class RowOwners implements Owners {
  readonly #sql: Sql
  readonly #kept = new Map<string, string>()
  readonly #lookups = new Map<string, WorkspaceLookup>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** Adds a way to find the workspace of something that is no row with `id` and `workspace_id`. */
  register(name: string, lookup: WorkspaceLookup): void {
    this.#lookups.set(name, lookup)
  }

  workspaceOf(table: string, id: string): string | undefined | Promise<string | undefined> {
    return this.#kept.get(`${table}/${id}`) ?? this.#find(table, id)
  }

  async lookup(name: string, value: string, userId: string | undefined): Promise<string | undefined> {
    const lookup = this.#lookups.get(name)
    if (lookup === undefined) throw new Error(`no lookup is called ${name}`)
    return lookup(value, userId)
  }

  async #find(table: string, id: string): Promise<string | undefined> {
    if (!NAME.test(table)) throw new Error(`${table} is no table name`)
    if (!isUuid(id)) return undefined
    const row = await this.#sql.row<{ workspace_id: string }>(`select workspace_id from ${table} where id = $1`, [id])
    if (row === undefined) return undefined
    if (this.#kept.size >= KEPT) this.#kept.clear()
    this.#kept.set(`${table}/${id}`, row.workspace_id)
    return row.workspace_id
  }
}
