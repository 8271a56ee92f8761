import type { MemoryKey, Turn } from '../../src/core/turn.ts'
import type { Sql } from '../../src/core/sql.ts'

/** What a turn has done, in the order in which it did it. */
export interface Done {
  readonly inserted: { readonly table: string; readonly row: Readonly<Record<string, unknown>> }[]
  readonly emitted: { readonly name: string; readonly data: unknown; readonly only: unknown }[]
  readonly jobs: { readonly name: string; readonly data: unknown; readonly runAt: Date | undefined }[]
  readonly audited: unknown[]
}

/** A turn without a database. It records what the code under test does with it. */
export function fakeTurn(sql: Partial<Sql> = {}): { readonly turn: Turn; readonly done: Done; succeed: () => void } {
  const done: Done = { inserted: [], emitted: [], jobs: [], audited: [] }
  const memory = new Map<MemoryKey<unknown>, unknown>()
  const settled: (() => void)[] = []
  const turn: Pick<Turn, 'workspaceId' | 'settled' | 'emit' | 'job' | 'audit' | 'afterCommit'> = {
    workspaceId: 'w1',
    settled: (action) => void settled.push(action),
    emit: ({ name }, data, only) => void done.emitted.push({ name, data, only }),
    job: ({ name }, data, options) => {
      done.jobs.push({ name, data, runAt: options?.runAt })
      return 'job'
    },
    audit: (target) => void done.audited.push(target),
    afterCommit: () => undefined,
  }
  return {
    turn: Object.assign(turn, {
      sql: { rows: async () => [], row: async () => undefined, run: async () => 0, ...sql },
      insert: (table: { readonly name: string }, row: Readonly<Record<string, unknown>>) =>
        void done.inserted.push({ table: table.name, row }),
      memory: <T>(key: MemoryKey<T>): T => {
        if (!memory.has(key)) memory.set(key, key.make())
        return memory.get(key) as T
      },
    }) as unknown as Turn,
    done,
    /** Ends the turn with success. */
    succeed: () => {
      for (const action of settled.splice(0)) action()
    },
  }
}
