import { NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { Envelope, Id, Input, Type } from '../../../core/schema.ts'
import { PlatformKey } from '../accounts/index.ts'
import { PlatformDetails, PlatformSummary } from './schemas.ts'

export const listPlatforms = operation({
  route: 'GET /api/platforms',
  summary: 'List platforms',
  access: 'public',
  returns: { 200: Envelope(Type.Array(PlatformSummary)) },
  example: {},
  etag: true,
  handle: ({ platformReplies }) => platformReplies.list(),
})

export const getPlatform = operation({
  route: 'GET /api/platforms/{platform}',
  summary: 'Get a platform and its rules',
  description:
    'With `accountId`, the rules are those of the account, and `account` says what it can do now. This requires the scope `accounts:read` in its workspace. The platform is asked at most every ten minutes. If it does not reply, its last reply is shown with its time.',
  access: 'public',
  path: Input({ platform: PlatformKey }),
  query: Input({
    accountId: Type.Optional(Type.String({ ...Id, description: 'An account of this platform' })),
  }),
  returns: { 200: Envelope(PlatformDetails) },
  errors: [NotFound],
  example: { path: { platform: 'mastodon' } },
  etag: true,
  handle: async ({ caller, path, platformReplies, query, socialAccounts: { capabilities, directory } }) => {
    const entry = directory.require(path.platform)
    const { accountId } = query
    const account = accountId === undefined ? null : await capabilities.forCaller(accountId, path.platform, caller)
    return platformReplies.details(entry, account)
  },
})
