import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../db/columns.ts'
import { table } from '../db/table.ts'

/** When a user was last connected by a socket. */
export const UserPresence = defineEntity({
  name: 'UserPresence',
  tableName: 'user_presence',
  properties: { userId: p.uuid().primary(), seenAt: timestamp() },
})

export const userPresence = table(UserPresence)
