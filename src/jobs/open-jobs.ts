import { sql as rawSql } from 'kysely'
import type { AnyJob } from '../core/job.ts'
import type { Sql } from '../core/sql.ts'
import { anyOf, not } from '../db/condition.ts'
import { query } from '../db/query.ts'
import { outbox } from './tables.ts'

/** The jobs among these that are waiting or running. Excludes done, dead and deleted jobs. */
export async function openJobs(sql: Sql, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await outbox.find(sql, { id: anyOf(ids), state: not('dead' as const) }, { columns: ['id'] })
  return new Set(rows.map(({ id }) => id))
}

const openWith = query({ outbox }, (db, $: { name: string; field: string; values: readonly string[] }) =>
  db
    .selectFrom('outbox as o')
    .select(rawSql<string>`o.data->>${$.field}::text`.as('value'))
    .where('o.name', '=', $.name)
    .where('o.state', '<>', 'dead')
    .where(rawSql<boolean>`o.data->>${$.field}::text = any(${$.values})`),
)

/** The values among these that a waiting or running job with this name has in a field of its data. */
export async function valuesInOpenJobs(
  sql: Sql,
  { name }: Pick<AnyJob, 'name'>,
  field: string,
  values: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await openWith.rows(sql, { name, field, values })
  return new Set(rows.map(({ value }) => value))
}
