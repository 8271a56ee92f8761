import type { Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'

/** A table whose rows are deleted with their workspace. */
interface Emptied {
  readonly table: string
  /** Deletes at most `$2` rows of the workspace `$1`. */
  readonly statement: string
}

interface ForeignKey {
  /** Whether it deletes the rows with those that they refer to. Otherwise it refuses that. */
  readonly cascades: boolean
  readonly table: string
  readonly column: string
  readonly parent: string
  readonly parentColumn: string
  /** Whether an index finds the rows of a workspace. */
  readonly byWorkspace: boolean
}

/** The foreign keys, and whether their tables have an index of workspaces. */
const KEYS = `
  select f.confdeltype = 'c' as cascades, t.relname as table, a.attname as column, p.relname as parent, pa.attname as "parentColumn",
    exists (
      select 1 from pg_index i join pg_attribute w on w.attrelid = i.indrelid and w.attnum = i.indkey[0]
      where i.indrelid = t.oid and i.indpred is null and w.attname = 'workspace_id') as "byWorkspace"
  from pg_constraint f
    join pg_class t on t.oid = f.conrelid join pg_attribute a on a.attrelid = t.oid and a.attnum = f.conkey[1]
    join pg_class p on p.oid = f.confrelid join pg_attribute pa on pa.attrelid = p.oid and pa.attnum = f.confkey[1]
  where f.contype = 'f' and t.relkind = 'r' and not t.relispartition
    and t.relnamespace = current_schema()::regnamespace
  order by cardinality(f.conkey), t.relname, a.attname`

/** How long a statement should take, in milliseconds. */
const WANTED_MS = 10
const [FEWEST, FIRST, MAX] = [10, 1, 5_000]

/**
 * Deletes the rows of workspaces in small statements, each in its own transaction. One statement for a large workspace
 * would take minutes, hold locks and keep the vacuum from all tables as long. The tables follow from the foreign keys.
 */
export class WorkspaceEmptying {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #kept = new Set<string>()
  #tables: readonly Emptied[] | undefined

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** Leaves the rows of a table for the transaction that deletes the workspace. */
  keep(table: string): void {
    this.#kept.add(table)
  }

  /** Deletes the rows of a workspace that nobody uses any more. Stops early when the signal is aborted. */
  async empty(workspaceId: string, signal?: AbortSignal): Promise<void> {
    // The schema does not change while a node runs.
    this.#tables ??= await this.#read()
    for (const { statement } of this.#tables) {
      for (let rows = FIRST; ;) {
        if (signal?.aborted === true) return
        const before = this.#clock.monotonic()
        const deleted = await this.#sql.run(statement, [workspaceId, rows])
        if (deleted < rows) break
        const took = Math.max(1, this.#clock.monotonic() - before)
        rows = Math.round(Math.min(MAX, Math.max(FEWEST, (rows * WANTED_MS) / took)))
      }
    }
  }

  /**
   * The tables, those that refer to others first. A table is left to its foreign keys if neither an index nor a parent
   * with such an index finds its rows: to find some would cost as much as to delete them.
   */
  async #read(): Promise<readonly Emptied[]> {
    const keys = await this.#sql.rows<ForeignKey>(KEYS)
    const cascading = keys.filter(({ cascades }) => cascades)
    const reached = new Set(['workspaces'])
    const conditions = new Map<string, string>()
    for (let before = 0; before < reached.size;) {
      before = reached.size
      for (const { byWorkspace, parent, table } of cascading) {
        if (!reached.has(parent) || reached.has(table)) continue
        reached.add(table)
        if (byWorkspace) conditions.set(table, 'workspace_id = $1')
      }
    }
    for (const { column, parent, parentColumn, table } of cascading) {
      if (conditions.has(table) || conditions.get(parent) !== 'workspace_id = $1') continue
      conditions.set(table, `${column} = any(array(select ${parentColumn} from ${parent} where workspace_id = $1))`)
    }
    return inOrder([...conditions.keys()], keys)
      .filter((table) => !this.#kept.has(table))
      .map((table) => {
        const some = `select ctid from ${table} where ${conditions.get(table) ?? 'false'} limit $2`
        return { table, statement: `delete from ${table} where ctid = any(array(${some}))` }
      })
  }
}

/** Each table after those that refer to it. */
function inOrder(tables: readonly string[], keys: readonly ForeignKey[]): string[] {
  const found = new Set<string>()
  const visit = (table: string, above: readonly string[]) => {
    if (found.has(table) || above.includes(table)) return
    for (const key of keys) if (key.parent === table) visit(key.table, [...above, table])
    found.add(table)
  }
  for (const table of tables) visit(table, [])
  return [...found].filter((table) => tables.includes(table))
}
