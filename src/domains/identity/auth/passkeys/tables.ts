import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../../db/columns.ts'
import type { Row } from '../../../../db/row.ts'
import { table } from '../../../../db/table.ts'
import { User } from '../../users/index.ts'

/** A key pair of a user at this server (W3C Web Authentication Level 3). The private key never leaves their device. */
export const Passkey = defineEntity({
  name: 'Passkey',
  tableName: 'passkeys',
  indexes: [{ name: 'passkeys_by_user', expression: 'create index passkeys_by_user on passkeys (user_id, id)' }],
  properties: {
    id: p.uuid().primary(),
    userId: references(User, { name: 'passkeys_user_id_fkey', onDelete: 'cascade' }),
    /** What the authenticator calls the key, in Base64URL. */
    credentialId: p.text().unique('passkeys_credential_id_key'),
    /** The public key as COSE, in Base64URL. */
    publicKey: p.text(),
    /** How often the authenticator has signed. Passkeys that are synchronized between devices do not count: 0. */
    counter: p.bigint('number'),
    transports: p.array(),
    /** Whether the passkey is copied to other devices of the user. */
    backedUp: p.boolean(),
    name: p.text(),
    version: p.integer().default(1),
    lastUsedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const passkeys = table(Passkey)
export type PasskeyRow = Row<typeof Passkey>
