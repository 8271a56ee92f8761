import { EXAMPLE } from '../../../../core/example-ids.ts'
import { NotFound, PlanLimit, ValidationFailed } from '../../../../core/errors.ts'
import { from, operation, owner } from '../../../../core/operation.ts'
import { pageFields, pageRequest } from '../../../../core/page.ts'
import { list, ok } from '../../../../core/reply.ts'
import { Envelope, Id, Input, ListOf, Type } from '../../../../core/schema.ts'
import { AccountNotConnected, NotSupported, PlatformRefused, PlatformUnavailable } from '../errors.ts'
import { AccountPath, SocialAccountView } from '../schemas.ts'
import { creatorView } from '../views.ts'
import { ChildAccountView, CreatorCheck, CreatorWishInput, PageIds } from './schemas.ts'

const { accountId: id, workspaceId } = EXAMPLE
const ERRORS = [NotFound, AccountNotConnected, NotSupported, PlatformRefused, PlatformUnavailable] as const

export const listFacebookPages = operation({
  route: 'GET /api/social-accounts/facebook/{id}/pages',
  summary: 'List the pages of a Facebook login',
  description: 'The list comes from Facebook. Pages that are connected to the workspace have an `accountId`.',
  access: 'accounts:read',
  workspace: owner('social_accounts'),
  path: AccountPath,
  returns: { 200: Envelope(Type.Array(ChildAccountView)) },
  errors: ERRORS,
  example: { path: { id } },
  handle: async ({ path, socialAccounts }) => ok('Pages', await socialAccounts.children.list(path.id, 'facebook')),
})

export const connectFacebookPages = operation({
  route: 'POST /api/social-accounts/facebook/{id}/pages',
  summary: 'Connect pages of a Facebook login',
  description: 'Connects all of them, or none. Pages that are connected already are renewed.',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  body: PageIds,
  returns: { 200: Envelope(Type.Array(SocialAccountView)) },
  errors: [...ERRORS, PlanLimit, ValidationFailed],
  example: { path: { id }, body: { pageIds: ['102345678901234'] } },
  before: ({ body, path, socialAccounts }) =>
    socialAccounts.children.prepare(path.id, 'facebook', { field: 'pageIds', ids: body.pageIds }),
  handle: async ({ caller, path, prepared, socialAccounts, turn }) =>
    ok('Pages connected', await socialAccounts.children.connect(turn, path.id, prepared, caller.userId)),
})

export const listConnectedPages = operation({
  route: 'GET /api/social-accounts/facebook/pages',
  summary: 'List the connected Facebook pages of a workspace',
  access: 'accounts:read',
  workspace: from.query('workspaceId'),
  query: Input({ workspaceId: Id, ...pageFields }),
  returns: { 200: ListOf(SocialAccountView) },
  example: { query: { workspaceId } },
  handle: async ({ query, socialAccounts }) => {
    const pages = { workspaceId: query.workspaceId, platform: 'facebook', kind: 'page' }
    return list('Connected pages', await socialAccounts.accounts.list(pages, pageRequest(query)))
  },
})

export const validateTikTokCreator = operation({
  route: 'POST /api/social-accounts/tiktok/{id}/validate-creator',
  summary: 'Check what a TikTok creator can post',
  description:
    'TikTok requires this check before a post is composed. `problems` lists what the creator cannot do, of the things that you send.',
  access: 'accounts:read',
  workspace: owner('social_accounts'),
  path: AccountPath,
  body: CreatorWishInput,
  returns: { 200: Envelope(CreatorCheck) },
  errors: ERRORS,
  example: { path: { id }, body: { privacyLevel: 'SELF_ONLY', durationSeconds: 60 } },
  handle: async ({ body, path, socialAccounts }) => {
    const { info, problems } = await socialAccounts.children.checkCreator(path.id, 'tiktok', body)
    const data = { ok: problems.length === 0, problems: [...problems], info: creatorView(info) }
    return ok('Creator checked', data)
  },
})
