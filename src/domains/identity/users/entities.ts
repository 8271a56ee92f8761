import { defineEntity, p } from '@mikro-orm/postgresql'
import type { StoredSettings } from './settings.ts'

export const UserSchema = defineEntity({
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
    /** As `normalizeEmail` leaves it. */
    email: p.text().unique('users_email_key'),
    emailVerified: p.boolean().default(false),
    /** PHC string of argon2id; null for those who only sign in with a provider or an API key. */
    passwordHash: p.text().nullable(),
    name: p.text().default(''),
    bio: p.text().default(''),
    timezone: p.text().default('UTC'),
    locale: p.text().default('en'),
    company: p.text().default(''),
    pictureId: p.uuid().nullable(),
    isAdmin: p.boolean().default(false),
    onboardingStep: p.text().nullable(),
    onboardingCompletedAt: p.datetime().columnType('timestamptz').nullable(),
    /** Only what the user has set; the rest is filled in from the defaults. */
    settings: p.json<StoredSettings>().defaultRaw(`'{}'`),
    settingsVersion: p.integer().default(1),
    /** When something was revoked for the whole user; nodes that missed the notice find it by this. */
    credentialsChangedAt: p.datetime().columnType('timestamptz').nullable().index('users_by_credentials_change'),
    version: p.integer().default(1),
    createdAt: p.datetime().columnType('timestamptz'),
    updatedAt: p.datetime().columnType('timestamptz'),
  },
})

/** A person who uses Crier. */
export class User extends UserSchema.class {}
UserSchema.setClass(User)

export const userEntities = [UserSchema]
