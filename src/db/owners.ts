import { isUuid } from '../tools/id.ts'
import type { Owners } from '../core/ports.ts'
import type { Sql } from '../core/sql.ts'

/** How many rows are cached. */
const CACHED = 50_000

/** Finds the workspace of a value. Undefined if the user must not learn that it exists. */
type WorkspaceLookup = (value: string, userId: string | undefined) => Promise<string | undefined>

/**
 * Finds the workspace that a resource belongs to. Rows never move between workspaces, so results are cached. A row that
 * was not found is looked up again, because it may be created later.
 */
export class RowOwners implements Owners {
  readonly #sql: Sql
  readonly #statements: ReadonlyMap<string, string>
  readonly #cache = new Map<string, string>()
  readonly #lookups = new Map<string, WorkspaceLookup>()

  /** @param resources tables with `id` and `workspace_id`, as declared by their domains */
  constructor(sql: Sql, resources: Iterable<string>) {
    this.#sql = sql
    // Written by hand: domains name these tables, and their entities are not known here.
    this.#statements = new Map(
      [...resources].map((table) => [table, `select workspace_id from ${table} where id = $1`]),
    )
  }

  /** Registers a lookup for the workspace of something other than a row with `id` and `workspace_id`. */
  register(name: string, lookup: WorkspaceLookup): void {
    this.#lookups.set(name, lookup)
  }

  workspaceOf(resource: string, id: string): string | undefined | Promise<string | undefined> {
    return this.#cache.get(`${resource}/${id}`) ?? this.#find(resource, id)
  }

  async lookup(name: string, value: string, userId: string | undefined): Promise<string | undefined> {
    const lookup = this.#lookups.get(name)
    if (lookup === undefined) throw new Error(`there is no lookup named ${name}`)
    return lookup(value, userId)
  }

  async #find(resource: string, id: string): Promise<string | undefined> {
    const statement = this.#statements.get(resource)
    if (statement === undefined) throw new Error(`no domain declares the resource ${resource}`)
    if (!isUuid(id)) return undefined
    const row = await this.#sql.row<{ workspace_id: string }>(statement, [id])
    if (row === undefined) return undefined
    if (this.#cache.size >= CACHED) this.#cache.clear()
    this.#cache.set(`${resource}/${id}`, row.workspace_id)
    return row.workspace_id
  }
}
