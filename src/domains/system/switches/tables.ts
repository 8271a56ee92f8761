import { defineEntity, p } from '@mikro-orm/postgresql'
import { table } from '../../../db/table.ts'
import { timestamp } from '../../../db/columns.ts'

/** Services that an administrator has switched on or off. A service without a row is on. */
export const ServiceSwitch = defineEntity({
  name: 'ServiceSwitch',
  tableName: 'service_switches',
  properties: { key: p.text().primary(), enabled: p.boolean(), updatedAt: timestamp() },
})

export const serviceSwitches = table(ServiceSwitch)
