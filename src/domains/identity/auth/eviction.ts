import type { Sql } from '../../../core/sql.ts'
import { markEmailVerified, resetUnverifiedUser } from '../users/index.ts'
import type { Sessions } from './sessions.ts'
import { apiKeys, oneTimeCodes, pendingSignUps } from './tables.ts'

/** Marks an address as verified, and deletes the code and the record of the sign-up. */
export async function markVerified(sql: Sql, userId: string, now: Date): Promise<void> {
  await markEmailVerified(sql, userId, now)
  await oneTimeCodes.delete(sql, { userId })
  await pendingSignUps.delete(sql, { userId })
}

/**
 * Removes the password, API keys, sessions and name of an account whose address was never confirmed, because another
 * person may have signed up with it. There is nothing else to remove. An unconfirmed account can only read its own profile
 * and log out. It cannot create workspaces, accept invitations or invite users. A confirmed account never becomes
 * unconfirmed again. `test/api/auth-takeover.test.ts` checks this.
 * Call it in the transaction in which the owner of the mailbox was authenticated.
 * @returns false, with nothing changed, for a confirmed account
 */
export async function evictStranger(sql: Sql, sessions: Sessions, userId: string, now: Date): Promise<boolean> {
  if (!(await resetUnverifiedUser(sql, userId, now))) return false
  await apiKeys.delete(sql, { userId })
  await sessions.revokeAll(sql, userId, 'takeover')
  return true
}
