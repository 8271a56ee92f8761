import type { Sql } from '../../../core/sql.ts'
import { markEmailVerified, resetUnverifiedUser } from '../users/index.ts'
import type { Sessions } from './sessions.ts'
import { apiKeys, oneTimeCodes, pendingSignUps } from './tables.ts'

/** The address is confirmed: what proves it is used up. */
export async function markVerified(sql: Sql, userId: string, now: Date): Promise<void> {
  await markEmailVerified(sql, userId, now)
  await oneTimeCodes.delete(sql, { userId })
  await pendingSignUps.delete(sql, { userId })
}

/**
 * Whoever signed up with an address that was never confirmed may be a stranger: their password, API key, sessions and
 * name go. Unconfirmed accounts cannot make workspaces or invite anybody, so there is nothing else to take back.
 * For the transaction in which the owner of the mailbox has proven to be one. A confirmed account stays as it is.
 */
export async function evictStranger(sql: Sql, sessions: Sessions, userId: string, now: Date): Promise<boolean> {
  if (!(await resetUnverifiedUser(sql, userId, now))) return false
  await apiKeys.delete(sql, { userId })
  await sessions.revokeAll(sql, userId, 'takeover')
  return true
}
