import type { Switches } from '../../../../core/ports.ts'
import { PUBLISHING_STATUSES, type PostingAccount } from '../../../social/accounts/index.ts'

/** Why nothing can be published at all now, for people; undefined if it can. */
export function switchedOff(switches: Pick<Switches, 'isOn'>): string | undefined {
  return switches.isOn('posts') ? undefined : 'the administrator has switched off publishing.'
}

/** Why nothing can be published at an account now, for people; undefined if it can. */
export function holdReason(switches: Pick<Switches, 'isOn'>, account: PostingAccount | undefined): string | undefined {
  const off = switchedOff(switches)
  if (off !== undefined) return off
  if (account === undefined) return 'the account was removed.'
  if (PUBLISHING_STATUSES.includes(account.status)) return undefined
  return account.statusReason ?? `the account is ${account.status.replaceAll('_', ' ')}.`
}
