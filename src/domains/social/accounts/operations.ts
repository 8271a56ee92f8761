import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound, PlanLimit } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, ok, storedList } from '../../../core/reply.ts'
import { Envelope, Input, ListOf, Text, Type } from '../../../core/schema.ts'
import { callbackReply, COOKIE, cookieOf, documentReply, homeOf } from './callback-page.ts'
import { creatorView } from './views.ts'
import { sharedNotice } from './service.ts'
import {
  AccountNotConnected,
  NotSupported,
  PlatformNotConfigured,
  PlatformRefused,
  PlatformUnavailable,
} from './errors.ts'
import {
  AccountPath,
  AccountQuery,
  ClientMetadata,
  CreatorInfo,
  DisconnectPreview,
  KeySet,
  NewAccount,
  PlatformKey,
  SignInLink,
  SignInQuery,
  SocialAccountDetails,
  SocialAccountView,
} from './schemas.ts'

const { accountId, workspaceId } = EXAMPLE
const PLATFORM_ERRORS = [NotFound, PlatformNotConfigured, PlatformRefused, PlatformUnavailable, NotSupported] as const

const CallbackQuery = Type.Object(
  {
    code: Type.Optional(Text(0, 4_000)),
    state: Type.Optional(Text(0, 500)),
    error: Type.Optional(Text(0, 200)),
    error_description: Type.Optional(Text(0, 2_000)),
  },
  { additionalProperties: Text(0, 4_000), description: 'The parameters as the platform sends them' },
)
const CALLBACK_RETURNS = {
  200: { contentType: 'text/html; charset=utf-8' },
  302: null,
  400: { contentType: 'text/html; charset=utf-8' },
} as const

export const getOAuthUrl = operation({
  route: 'GET /api/social-accounts/oauth/{platform}/url',
  summary: 'Get a sign-in link for a platform',
  description:
    'Open `url` in the browser that made this request, because the reply sets a cookie that the callback needs. The link works once, within ten minutes. Send `accountId` to connect an account again. Signing in with a different account is then refused.',
  access: 'accounts:manage',
  changes: true,
  workspace: from.query('workspaceId'),
  path: Input({ platform: PlatformKey }),
  query: SignInQuery,
  cookie: COOKIE,
  returns: { 200: Envelope(SignInLink) },
  headers: ['Set-Cookie'],
  errors: PLATFORM_ERRORS,
  example: { path: { platform: 'mastodon' }, query: { workspaceId, instance: 'mastodon.social' } },
  handle: async ({ caller, cookie, path, query, socialAccounts }) => {
    const started = await socialAccounts.signIns.begin({ ...query, ...path, userId: caller.userId, cookie })
    const { expiresAt, state, url } = started
    const headers = { 'Set-Cookie': cookieOf(started.cookie, socialAccounts.publicUrl), 'Cache-Control': 'no-store' }
    return { ...ok('Sign-in link', { url, state, expiresAt }), headers }
  },
})

export const oauthCallback = operation({
  route: 'GET /api/social-accounts/oauth/{platform}/callback',
  summary: 'Finish a sign-in at a platform',
  description:
    'The platform sends the browser here. The browser then goes to the `redirectUri` of the link, with `account` and `status` or with `error` and `message` in the query. Without a `redirectUri`, Crier shows a page with the result.',
  access: 'public',
  changes: true,
  limit: 'auth',
  openQuery: true,
  path: Input({ platform: PlatformKey }),
  query: CallbackQuery,
  cookie: COOKIE,
  returns: CALLBACK_RETURNS,
  headers: ['Location'],
  example: { path: { platform: 'mastodon' }, query: { code: 'EXAMPLE', state: 'EXAMPLE' } },
  handle: async ({ cookie, path, query, socialAccounts }) =>
    callbackReply(path.platform, await socialAccounts.signIns.finish(path.platform, query, cookie)),
})

export const atprotoClientMetadata = operation({
  route: 'GET /api/oauth/atproto/client-metadata.json',
  summary: 'Get the client metadata for the AT Protocol',
  description: 'Servers of the AT Protocol (Bluesky) read this document. Its address is the client id of this server.',
  access: 'public',
  returns: { 200: ClientMetadata },
  headers: ['Cache-Control'],
  example: {},
  handle: async ({ socialAccounts: { directory } }) =>
    documentReply<typeof ClientMetadata>(await directory.document('/api/oauth/atproto/client-metadata.json')),
})

export const atprotoJwks = operation({
  route: 'GET /api/oauth/atproto/jwks.json',
  summary: 'Get the public keys for the AT Protocol',
  description: 'The keys (RFC 7517) with which this server authenticates at servers of the AT Protocol (Bluesky).',
  access: 'public',
  returns: { 200: KeySet },
  headers: ['Cache-Control'],
  example: {},
  handle: async ({ socialAccounts: { directory } }) =>
    documentReply<typeof KeySet>(await directory.document('/api/oauth/atproto/jwks.json')),
})

export const atprotoCallback = operation({
  route: 'GET /api/oauth/atproto/callback',
  summary: 'Finish a sign-in at a server of the AT Protocol',
  description:
    'Like the callback of the other platforms. On a server at `localhost` it first sends the browser from 127.0.0.1, which the protocol requires, to `localhost`, which has the cookie of the sign-in.',
  access: 'public',
  changes: true,
  limit: 'auth',
  openQuery: true,
  query: CallbackQuery,
  cookie: COOKIE,
  returns: CALLBACK_RETURNS,
  headers: ['Location'],
  example: { query: { code: 'EXAMPLE', state: 'EXAMPLE' } },
  handle: async ({ cookie, query, socialAccounts: { directory, publicUrl, signIns } }) => {
    const path = '/api/oauth/atproto/callback'
    const platform = directory.ofCallback(path) ?? ''
    const home = cookie === undefined ? homeOf(publicUrl, path, query) : undefined
    return home ?? callbackReply(platform, await signIns.finish(platform, query, cookie))
  },
})

export const connectAccount = operation({
  route: 'POST /api/social-accounts',
  summary: 'Connect an account with credentials',
  description:
    'For platforms without a sign-in page, and for app passwords. The credentials are checked at the platform first. An account that was connected before keeps its id, posts and history.',
  access: 'accounts:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewAccount,
  returns: { 201: Envelope(SocialAccountView) },
  errors: [...PLATFORM_ERRORS, PlanLimit],
  example: {
    body: {
      workspaceId,
      platform: 'telegram',
      credentials: { botToken: '123456789:AAEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPL', chat: '@example_channel' },
    },
  },
  before: ({ body, socialAccounts }) => socialAccounts.credentials.check(body),
  handle: async ({ caller, prepared, socialAccounts: { accounts }, turn }) => {
    const account = await accounts.connect(turn, prepared, { userId: caller.userId })
    const notice = sharedNotice(await accounts.countElsewhere(turn.sql, account))
    return created(notice === null ? 'Account connected' : `Account connected. ${notice}`, account)
  },
})

export const listSocialAccounts = operation({
  route: 'GET /api/social-accounts',
  summary: 'List social accounts',
  description: 'Removed accounts are listed with `status=removed` only.',
  access: 'accounts:read',
  workspace: from.query('workspaceId'),
  query: AccountQuery,
  returns: { 200: ListOf(SocialAccountView) },
  example: { query: { workspaceId } },
  handle: async ({ query, socialAccounts }) =>
    storedList('Social accounts', await socialAccounts.accounts.list(query, pageRequest(query))),
})

export const getSocialAccount = operation({
  route: 'GET /api/social-accounts/{id}',
  summary: 'Get a social account',
  access: 'accounts:read',
  workspace: owner('social_accounts'),
  path: AccountPath,
  returns: { 200: Envelope(SocialAccountDetails) },
  errors: [NotFound],
  example: { path: { id: accountId } },
  handle: async ({ path, socialAccounts }) => ok('Social account', await socialAccounts.accounts.details(path.id)),
})

export const refreshSocialAccount = operation({
  route: 'POST /api/social-accounts/{id}/refresh',
  summary: 'Refresh the token and profile of an account',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  returns: { 200: Envelope(SocialAccountView) },
  errors: [NotFound, AccountNotConnected, PlatformRefused, PlatformUnavailable],
  example: { path: { id: accountId } },
  before: ({ path, socialAccounts }) => socialAccounts.profiles.load(path.id),
  handle: async ({ caller, path, prepared, socialAccounts, turn }) =>
    ok('Account refreshed', await socialAccounts.profiles.store(turn, path.id, prepared, caller.userId)),
})

export const getCreatorInfo = operation({
  route: 'GET /api/social-accounts/{id}/creator-info',
  summary: 'Get what an account can do at its platform',
  description:
    'The answer comes from the platform and is cached for ten minutes, or as long as the platform allows. If the platform does not respond, the last answer is returned with `isCurrent: false`.',
  access: 'accounts:read',
  workspace: owner('social_accounts'),
  path: AccountPath,
  returns: { 200: Envelope(CreatorInfo) },
  errors: [NotFound, AccountNotConnected, PlatformRefused, PlatformUnavailable],
  example: { path: { id: accountId } },
  handle: async ({ path, socialAccounts }) =>
    ok('Creator info', creatorView(await socialAccounts.capabilities.of(path.id))),
})

export const disconnectSocialAccount = operation({
  route: 'DELETE /api/social-accounts/{id}',
  summary: 'Disconnect an account',
  description:
    'Cancels its scheduled posts, disconnects the pages of its login, and revokes the access at the platform. Instagram, Threads and Pinterest have no way to do that, and bots and webhooks of Discord and Telegram are your own: `statusMessage` says how to end the access there. It can be restored for 30 days: `POST /api/limits/accounts/{id}/restore`. If the platform has revoked the access by then, connect it again.',
  access: 'accounts:manage',
  workspace: owner('social_accounts'),
  turn: true,
  path: AccountPath,
  returns: { 200: Envelope(SocialAccountView) },
  errors: [NotFound],
  example: { path: { id: accountId } },
  handle: async ({ caller, path, socialAccounts, turn }) =>
    ok('Account disconnected', await socialAccounts.lifecycle.remove(turn, path.id, caller.userId)),
})

export const previewDisconnect = operation({
  route: 'GET /api/social-accounts/{id}/disconnect-preview',
  summary: 'Preview what disconnecting an account cancels',
  access: 'accounts:read',
  workspace: owner('social_accounts'),
  path: AccountPath,
  returns: { 200: Envelope(DisconnectPreview) },
  errors: [NotFound],
  example: { path: { id: accountId } },
  handle: async ({ path, socialAccounts }) =>
    ok('Effects of disconnecting', await socialAccounts.lifecycle.preview(path.id)),
})
