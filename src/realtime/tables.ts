import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../db/columns.ts'
import { table } from '../db/table.ts'

/** When a user was last connected by a socket. */
export const UserPresence = defineEntity({
  name: 'UserPresence',
  tableName: 'user_presence',
  properties: { userId: p.uuid().primary(), seenAt: timestamp() },
})

/** What a socket shows its user, so that they are not notified of it. */
export const UserScreen = defineEntity({
  name: 'UserScreen',
  tableName: 'user_screens',
  indexes: [{ name: 'user_screens_by_user', properties: ['userId'] }],
  properties: {
    socketId: p.text().primary(),
    userId: p.uuid(),
    /** `<kind>:<id>` of each resource. */
    resources: p.array().columnType('text[]'),
    until: timestamp(),
  },
})

export const userPresence = table(UserPresence)
export const userScreens = table(UserScreen)
