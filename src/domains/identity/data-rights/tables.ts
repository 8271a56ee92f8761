import { defineEntity } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { User } from '../users/index.ts'

/** A requested deletion of an account. */
export const AccountDeletion = defineEntity({
  name: 'AccountDeletion',
  tableName: 'account_deletions',
  properties: {
    userId: references(User, { name: 'account_deletions_user_id_fkey', onDelete: 'cascade' }).primary(),
    requestedAt: timestamp(),
    deleteAt: timestamp().index('account_deletions_by_time'),
    /** When the account was deleted for good. Null until then. */
    deletedAt: timestamp().nullable(),
  },
})

export const accountDeletions = table(AccountDeletion)
