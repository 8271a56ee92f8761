import { EXAMPLE } from '../../../../core/example-ids.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { from, operation } from '../../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../../core/page.ts'
import { created, done, list } from '../../../../core/reply.ts'
import { Done, Envelope, ListOf, Type } from '../../../../core/schema.ts'
import { FlowPath } from '../schemas.ts'
import { HTML } from '../../../../core/html-page.ts'
import { COOKIE } from './page.ts'
import { CreatedGuest, GuestPath, GuestView, NewGuest, PageView, TokenPath } from './schemas.ts'

const path = { workspaceId: EXAMPLE.workspaceId }
const PAGE = { contentType: HTML } as const
const EXAMPLE_TOKEN = { token: 'EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE' }

export const createGuestLink = operation({
  route: 'POST /api/approvals/{workspaceId}/guests',
  summary: 'Create a link for a guest',
  description:
    'The link lets a guest without an account see posts in review on a web page, and decide at stages with `guests`. It shows one post, the posts of a label or an account, or all. The link is shown only once.',
  access: 'approvals:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: FlowPath,
  body: NewGuest,
  returns: { 201: Envelope(CreatedGuest) },
  errors: [ValidationFailed],
  example: { path, body: { name: 'Grace of Northwind', label: 'northwind', timezone: 'Europe/Berlin' } },
  before: async ({ approvals, body }) => ({ passcodeHash: await approvals.guests.hashOf(body.passcode) }),
  handle: async ({ approvals, body, caller: { userId }, prepared, turn }) =>
    created('Link created', await approvals.guests.create(turn, body, { ...prepared, userId })),
})

export const listGuestLinks = operation({
  route: 'GET /api/approvals/{workspaceId}/guests',
  summary: 'List the links for guests',
  description: 'Newest first.',
  access: 'approvals:manage',
  workspace: from.path('workspaceId'),
  path: FlowPath,
  query: PageQuery,
  returns: { 200: ListOf(GuestView) },
  example: { path, query: { limit: 30 } },
  handle: async ({ approvals, path: { workspaceId }, query }) =>
    list('Links', await approvals.guests.list(workspaceId, pageRequest(query))),
})

export const revokeGuestLink = operation({
  route: 'DELETE /api/approvals/{workspaceId}/guests/{id}',
  summary: 'Revoke a link for a guest',
  description: 'The link stops working at once. Decisions that were made with it stay.',
  access: 'approvals:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: GuestPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { ...path, id: EXAMPLE.postId } },
  handle: async ({ approvals, path: { id }, turn }) => {
    await approvals.guests.revoke(turn, id)
    return done('Link revoked')
  },
})

export const openGuestLink = operation({
  route: 'GET /api/guests/{token}',
  summary: 'Open the page of a guest',
  description:
    'The page has no scripts. What waits for the guest comes first, and what was published is folded. Each look is in the audit log of the workspace.',
  access: 'public',
  changes: true,
  limit: 'auth',
  path: TokenPath,
  query: PageView,
  openQuery: true,
  languages: true,
  cookie: COOKIE,
  returns: { 200: PAGE, 404: PAGE },
  headers: ['Set-Cookie'],
  example: { path: EXAMPLE_TOKEN },
  handle: async ({ acceptLanguage: accepted, approvals, cookie, path, query, remoteAddress, requestId, userAgent }) =>
    approvals.visits.look({ ...path, cookie, accepted, origin: { remoteAddress, requestId, userAgent } }, query.view),
})

export const sendGuestDecision = operation({
  route: 'POST /api/guests/{token}',
  summary: 'Send a form of the page of a guest',
  description:
    'A decision on a post, the approval of a list of posts, or the passcode of the link. Only forms of that page are accepted. Of a list, each post has its own result, and one that has changed since is not approved.',
  access: 'public',
  limit: 'auth',
  path: TokenPath,
  languages: true,
  body: Type.String({ maxLength: 60_000, description: 'The fields of the form' }),
  bodyType: 'application/x-www-form-urlencoded',
  cookie: COOKIE,
  returns: { 200: PAGE, 400: PAGE, 403: PAGE, 404: PAGE, 409: PAGE, 429: PAGE },
  headers: ['Set-Cookie'],
  example: { path: EXAMPLE_TOKEN, body: 'form=EXAMPLE&decision=approve' },
  handle: async ({ acceptLanguage: accepted, approvals, body, cookie, path, remoteAddress, requestId, userAgent }) =>
    approvals.visits.send({ ...path, cookie, accepted, origin: { remoteAddress, requestId, userAgent } }, body),
})
