import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

const account = { accountId: Type.String(), account: Type.String(), platform: Type.String() }
const anAccount = { accountId: EXAMPLE.accountId, account: 'ada', platform: 'Mastodon' }
const resource = ({ accountId }: { readonly accountId: string }) => ({ kind: 'social_account', id: accountId })

export const accountDisconnected = notificationType({
  name: 'account.disconnected',
  kind: 'accountDisconnected',
  summary: 'A platform no longer accepts the access to an account. Sent to the member who connected it, or to an owner',
  scope: 'team:read',
  urgent: true,
  data: Type.Object({ ...account, hasReason: Type.String(), reason: Type.String() }),
  example: { ...anAccount, hasReason: 'yes', reason: 'The access token was revoked' },
  resource,
})

export const accountExpiring = notificationType({
  name: 'account.expiring',
  kind: 'accountDisconnected',
  summary: 'The access to an account ends soon, and only its user can renew it. Sent 7 days before and a day before',
  scope: 'team:read',
  data: Type.Object({ ...account, days: Type.Integer(), until: Type.String() }),
  example: { ...anAccount, days: 7, until: EXAMPLE_TIME },
  resource,
})
