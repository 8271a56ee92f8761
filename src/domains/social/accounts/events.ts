import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type } from '../../../core/schema.ts'
import { SocialAccountView, type SocialAccountData } from './schemas.ts'

const EXAMPLE_ACCOUNT: SocialAccountData = {
  _id: EXAMPLE.accountId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId: EXAMPLE.workspaceId,
  platform: 'mastodon',
  remoteId: 'mastodon.social/109876543210',
  loginAccountId: null,
  name: 'Anna Lee',
  handle: 'anna@mastodon.social',
  avatarUrl: null,
  url: 'https://mastodon.social/@anna',
  kind: 'person',
  status: 'connected',
  statusMessage: null,
  scopes: ['read:accounts', 'write:statuses', 'write:media'],
  missingScopes: [],
  expiresAt: null,
  sandbox: false,
  connectedAt: EXAMPLE_TIME,
  checkedAt: EXAMPLE_TIME,
  removedAt: null,
}

export const socialAccountCreated = event({
  name: 'account.created',
  summary: 'A social account was connected for the first time',
  scope: 'accounts:read',
  data: SocialAccountView,
  example: EXAMPLE_ACCOUNT,
})

export const socialAccountUpdated = event({
  name: 'account.updated',
  summary: 'The status or profile of a social account changed',
  scope: 'accounts:read',
  data: SocialAccountView,
  example: EXAMPLE_ACCOUNT,
})

export const socialAccountDeleted = event({
  name: 'account.deleted',
  summary: 'A removed social account was permanently deleted, 30 days after its removal',
  scope: 'accounts:read',
  data: Type.Object({ accountId: Id }),
  example: { accountId: EXAMPLE.accountId },
})
