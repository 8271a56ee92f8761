import { DAY } from '../../../core/clock.ts'
import { States } from '../../../core/schema.ts'

/** The status of an account: the first that applies, in the order of `statusOf`. */
export const AccountStatusSchema = States('AccountStatus', 'Whether an account can be used', {
  connected: 'It works',
  expiring: 'It works, but the access ends within seven days and only the user can renew it',
  limited: 'It works, but a permission was not granted. `missingScopes` says which, and what that prevents',
  reconnect_needed: 'The platform no longer accepts the access. The user must connect the account again',
  suspended: 'An administrator of this server has suspended it',
  archived: 'It is kept with all its posts, but nothing is published to it',
  removed: 'It was disconnected. It can be restored for 30 days',
})

export type AccountStatus =
  | 'connected'
  | 'expiring'
  | 'limited'
  | 'reconnect_needed'
  | 'suspended'
  | 'archived'
  | 'removed'

/** Within this time before the end of an access, the account counts as expiring. */
export const EXPIRING_MS = 7 * DAY

interface AccountFacts {
  readonly removedAt: string | null
  readonly suspendedAt: string | null
  readonly archivedAt: string | null
  readonly brokenReason: string | null
  readonly missingScopes: readonly string[]
  readonly expiresAt: string | null
}

/** The status that follows from the facts. */
export function statusOf(account: AccountFacts, now: number): AccountStatus {
  if (account.removedAt !== null) return 'removed'
  if (account.suspendedAt !== null) return 'suspended'
  if (account.archivedAt !== null) return 'archived'
  if (account.brokenReason !== null) return 'reconnect_needed'
  if (account.expiresAt !== null) {
    const left = Date.parse(account.expiresAt) - now
    if (left <= 0) return 'reconnect_needed'
    if (account.missingScopes.length === 0 && left <= EXPIRING_MS) return 'expiring'
  }
  return account.missingScopes.length > 0 ? 'limited' : 'connected'
}
