import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { completeSettings, type Settings } from './settings.ts'
import { users } from './tables.ts'

export type PublishingSettingsData = Settings['publishing']

/** How these users want to publish, by user id. */
export async function publishingSettingsOf(
  sql: Sql,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, PublishingSettingsData>> {
  const rows = await users.find(sql, { id: anyOf(userIds) }, { columns: ['id', 'settings'] })
  return new Map(rows.map(({ id, settings }) => [id, completeSettings(settings).publishing]))
}
