import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../../db/columns.ts'
import { table } from '../../../../db/table.ts'
import { User } from '../../users/index.ts'

/** The authenticator app of a user. It is asked for once it has been confirmed. */
export const Totp = defineEntity({
  name: 'Totp',
  tableName: 'totps',
  properties: {
    userId: references(User, { name: 'totps_user_id_fkey', onDelete: 'cascade' }).primary(),
    /** The shared secret, encrypted. */
    secretSealed: p.text(),
    enrolledAt: timestamp(),
    confirmedAt: timestamp().nullable(),
    /** The time step of the newest code that was accepted. Only later codes are accepted. */
    lastStep: p.integer().default(0),
  },
})

/** A code that replaces the authenticator app once. Only its MAC is stored. */
export const RecoveryCode = defineEntity({
  name: 'RecoveryCode',
  tableName: 'recovery_codes',
  properties: {
    codeHash: p.text().primary(),
    userId: references(User, { name: 'recovery_codes_user_id_fkey', onDelete: 'cascade' }).index(
      'recovery_codes_by_user',
    ),
    createdAt: timestamp(),
  },
})

export const totps = table(Totp)
export const recoveryCodes = table(RecoveryCode)
