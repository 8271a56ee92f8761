import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User } from './tables.ts'

/** An API key of a user: stored as its SHA-256, because the key has 256 random bits. */
export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  indexes: [
    {
      name: 'api_keys_default_key',
      expression: 'create unique index api_keys_default_key on api_keys (user_id) where is_default',
    },
    { name: 'api_keys_by_user', expression: 'create index api_keys_by_user on api_keys (user_id, id)' },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: references(User, { name: 'api_keys_user_id_fkey', onDelete: 'cascade' }),
    name: p.text(),
    keyHash: p.text().unique('api_keys_hash_key'),
    /** The first characters, by which its owner knows it again. */
    prefix: p.text(),
    /** The one of sign-up, which `regenerateApiKey` replaces. */
    isDefault: p.boolean().default(false),
    /** Null: whatever its user may. */
    scopes: p.array().nullable(),
    /** Null: every workspace of its user. */
    workspaceIds: p.array().columnType('uuid[]').nullable(),
    expiresAt: timestamp().nullable(),
    lastUsedAt: timestamp().nullable(),
    lastUsedAddress: p.text().nullable(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const apiKeys = table(ApiKey)
export type ApiKeyRow = Row<typeof ApiKey>
