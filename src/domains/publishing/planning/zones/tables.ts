import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../../../../db/columns.ts'
import { table } from '../../../../db/table.ts'

/** The version of the time zone rules (tzdata) with which the times of all posts were last derived. */
export const ZoneCheck = defineEntity({
  name: 'ZoneCheck',
  tableName: 'zone_checks',
  properties: { name: p.text().primary(), version: p.text(), checkedAt: timestamp() },
})

export const zoneChecks = table(ZoneCheck)
