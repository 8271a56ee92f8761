import type { Switches } from '../../../../core/ports.ts'
import { PUBLISHING_STATUSES, type PostingAccount } from '../../../social/accounts/index.ts'

/** Why nothing can be published at an account now, for people; undefined if it can. */
export function holdReason(switches: Pick<Switches, 'isOn'>, account: PostingAccount | undefined): string | undefined {
  if (!switches.isOn('posts')) return 'the administrator has switched off publishing.'
  if (account === undefined) return 'the account was removed.'
  if (PUBLISHING_STATUSES.includes(account.status)) return undefined
  return account.statusReason ?? `the account is ${account.status.replaceAll('_', ' ')}.`
}
