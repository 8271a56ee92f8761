import { EXAMPLE } from '../../../../core/example-ids.ts'
import { NotFound, PlanLimit, ValidationFailed } from '../../../../core/errors.ts'
import { from, operation, owner } from '../../../../core/operation.ts'
import { pageFields, pageRequest } from '../../../../core/page.ts'
import { created, ok, storedList } from '../../../../core/reply.ts'
import { Envelope, Id, Input, ListOf, Type } from '../../../../core/schema.ts'
import type { Place } from '../../../../platforms/platform.ts'
import { AccountNotConnected, NotSupported, PlatformRefused, PlatformUnavailable } from '../errors.ts'
import { AccountPath, SocialAccountView } from '../schemas.ts'
import { creatorView } from '../views.ts'
import {
  BoardView,
  ChildAccountView,
  CreatorCheck,
  CreatorWishInput,
  NewBoard,
  OrganizationIds,
  PageIds,
} from './schemas.ts'

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
    const pages = { workspaceId: query.workspaceId, platform: ['facebook'], kind: 'page' }
    return storedList('Connected pages', await socialAccounts.accounts.list(pages, pageRequest(query)))
  },
})

export const listLinkedInOrganizations = operation({
  route: 'GET /api/social-accounts/linkedin/{id}/organizations',
  summary: 'List the organizations of a LinkedIn login',
  description: 'The list comes from LinkedIn. Organizations that are connected to the workspace have an `accountId`.',
  access: 'accounts:read',
  workspace: owner('social_accounts'),
  path: AccountPath,
  returns: { 200: Envelope(Type.Array(ChildAccountView)) },
  errors: ERRORS,
  example: { path: { id } },
  handle: async ({ path, socialAccounts }) =>
    ok('Organizations', await socialAccounts.children.list(path.id, 'linkedin')),
})

export const connectLinkedInOrganizations = operation({
  route: 'POST /api/social-accounts/linkedin/{id}/organizations',
  summary: 'Connect organizations of a LinkedIn login',
  description: 'Connects all of them, or none. Organizations that are connected already are renewed.',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  body: OrganizationIds,
  returns: { 200: Envelope(Type.Array(SocialAccountView)) },
  errors: [...ERRORS, PlanLimit, ValidationFailed],
  example: { path: { id }, body: { organizationIds: ['2414183'] } },
  before: ({ body, path, socialAccounts }) =>
    socialAccounts.children.prepare(path.id, 'linkedin', { field: 'organizationIds', ids: body.organizationIds }),
  handle: async ({ caller, path, prepared, socialAccounts, turn }) =>
    ok('Organizations connected', await socialAccounts.children.connect(turn, path.id, prepared, caller.userId)),
})

export const listPinterestBoards = operation({
  route: 'GET /api/social-accounts/pinterest/{id}/boards',
  summary: 'List the boards of a Pinterest account',
  access: 'accounts:read',
  workspace: owner('social_accounts'),
  path: AccountPath,
  returns: { 200: Envelope(Type.Array(BoardView)) },
  errors: ERRORS,
  example: { path: { id } },
  handle: async ({ path, socialAccounts }) =>
    ok('Boards', (await socialAccounts.children.places(path.id, 'pinterest')).map(boardOf)),
})

export const createPinterestBoard = operation({
  route: 'POST /api/social-accounts/pinterest/{id}/boards',
  summary: 'Create a board on Pinterest',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  body: NewBoard,
  returns: { 201: Envelope(BoardView) },
  errors: ERRORS,
  example: { path: { id }, body: { name: 'Recipes', privacy: 'PUBLIC' } },
  before: ({ body, path, socialAccounts }) => socialAccounts.children.createPlace(path.id, 'pinterest', body),
  handle: ({ path, prepared, turn }) => {
    turn.audit({ kind: 'social_account', id: path.id })
    return created('Board created', boardOf(prepared))
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

function boardOf({ id: remoteId, name, privacy, url }: Place) {
  return { remoteId, name, url, privacy: privacy ?? null }
}
