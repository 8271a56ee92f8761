import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../db/columns.ts'
import { table } from '../db/table.ts'

/** An idempotency key of a caller and operation, with the reply to repeat. The reply is null while the request runs. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  properties: {
    principal: p.text().primary(),
    operation: p.text().primary(),
    key: p.text().primary(),
    fingerprint: p.text(),
    status: p.integer().nullable(),
    /** Encrypted, because some replies contain a secret that is shown only once. */
    reply: p.text().nullable(),
    createdAt: timestamp(),
    expiresAt: timestamp().index('idempotency_keys_by_expiry'),
  },
})

export const idempotencyKeys = table(IdempotencyKey)
