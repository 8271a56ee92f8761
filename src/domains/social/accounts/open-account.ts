import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { AccountNotConnected } from './errors.ts'
import { asAppError } from './platform-calls.ts'
import { socialAccounts, type SocialAccountRow } from './tables.ts'
import { openAccount, type OpenAccount, type TokenRefresher } from './token-refresher.ts'

/**
 * Opens an account for a call on behalf of a user.
 * @throws AppError not_found; account_not_connected when it was removed, archived or suspended; platform_refused,
 * platform_unavailable
 */
export async function openUsable(
  sql: Sql,
  refresher: TokenRefresher,
  directory: PlatformDirectory,
  id: string,
): Promise<OpenAccount> {
  requireUsable(await socialAccounts.first(sql, { id }))
  const opened = await asAppError(() => openAccount(sql, refresher, directory, id))
  if (opened === undefined) throw NotFound()
  return opened
}

/** @throws AppError not_found; account_not_connected when it was removed, archived or suspended */
export function requireUsable(
  row: Pick<SocialAccountRow, 'removedAt' | 'suspendedAt' | 'archivedAt'> | undefined,
): asserts row is NonNullable<typeof row> {
  if (row === undefined) throw NotFound()
  if (row.removedAt !== null) throw AccountNotConnected({ message: 'The account was removed. Restore it first.' })
  if (row.suspendedAt !== null) throw AccountNotConnected({ message: 'An administrator has suspended the account.' })
  if (row.archivedAt !== null) throw AccountNotConnected({ message: 'The account is archived. Unarchive it first.' })
}
