import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'

/** Where times are planned: a turn, or a read that finds out what a turn would do. */
export type PlanningScope = Pick<Turn, 'workspaceId' | 'sql' | 'memory' | 'settled' | 'restorable'>

/** Where it is decided whether a text may be published: with who asks. */
export type DecisionScope = PlanningScope & Pick<Turn, 'caller'>

/** A scope that keeps nothing. It sees the database as it is now. */
export function dryScope(sql: Sql, workspaceId: string): PlanningScope {
  const values = new Map<string, unknown>()
  return {
    workspaceId,
    sql,
    memory: <T>({ make, name }: MemoryKey<T>): T => {
      if (!values.has(name)) values.set(name, make())
      return values.get(name) as T
    },
    settled: () => undefined,
    restorable: () => undefined,
  }
}
