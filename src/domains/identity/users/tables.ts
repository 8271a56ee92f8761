import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import type { StoredSettings } from './settings.ts'

/** A person who uses Crier. */
export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  indexes: [
    {
      name: 'users_by_picture',
      expression: 'create unique index users_by_picture on users (picture_id) where picture_id is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    /** Normalized by `normalizeEmail`. */
    email: p.text().unique('users_email_key'),
    emailVerified: p.boolean().default(false),
    /** Argon2id as a PHC string. Null for users who sign in only with a provider or an API key. */
    passwordHash: p.text().nullable(),
    name: p.text().default(''),
    bio: p.text().default(''),
    timezone: p.text().default('UTC'),
    locale: p.text().default('en'),
    company: p.text().default(''),
    pictureId: p.uuid().nullable(),
    isAdmin: p.boolean().default(false),
    onboardingStep: p.text().nullable(),
    onboardingCompletedAt: timestamp().nullable(),
    /** Only the settings that the user has set; defaults are added when they are read. */
    settings: p.json<StoredSettings>().defaultRaw(`'{}'`),
    settingsVersion: p.integer().default(1),
    /** When credentials or rights of the user last changed. Nodes that missed the notice poll this column. */
    credentialsChangedAt: timestamp().nullable().index('users_by_credentials_change'),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const users = table(User)
export type UserRow = Row<typeof User>
