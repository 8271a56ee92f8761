import type { Caller } from '../../../core/caller.ts'
import { Conflict, EmailUnverified, NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf, type Static } from '../../../core/schema.ts'
import { EmailInUse } from '../users/index.ts'
import { cookieOf, endOfCookie, refreshTokenOf, replyWithTokens } from './cookie-session.ts'
import {
  InvalidRefreshToken,
  InvalidResetToken,
  ProviderEmailUnverified,
  ProviderNotConfigured,
  ProviderSignInFailed,
  ProviderUnavailable,
  RefreshTokenReused,
  SessionCookieRefused,
  TooManyAttempts,
  WrongCode,
  WrongLogin,
} from './errors.ts'
import {
  ByEmail,
  Confirmed,
  COOKIE_HEADERS,
  type ConfirmedData,
  DownloadLinkView,
  Login,
  Logout,
  NewDownloadLink,
  ProviderPath,
  ProviderSignIn,
  PasswordReset,
  Refresh,
  ResetPassword,
  Revoked,
  SessionView,
  SignedIn,
  SignedInWithProvider,
  SignedUp,
  SignUp,
  Tokens,
  VerifyEmail,
} from './schemas.ts'
import { SecondFactorRequired } from './second-factor/errors.ts'

export const signUp = operation({
  route: 'POST /api/auth/signup',
  summary: 'Sign up with email and password',
  description:
    'The reply shows the API key once. Until the address is confirmed, the key can only read the profile. A six-digit code is sent by email; POST /api/auth/verify-otp confirms the address with it.',
  access: 'public',
  limit: 'auth',
  body: SignUp,
  returns: { 201: SignedUp },
  errors: [EmailInUse],
  example: { body: { email: 'ada@example.com', password: 'correct horse battery staple', name: 'Ada Lovelace' } },
  handle: async ({ auth, body, remoteAddress, userAgent }) => ({
    status: 201 as const,
    body: {
      message: 'Signed up. Confirm your address with the code that was mailed.',
      user: await auth.service.signUp(body, { remoteAddress, userAgent }),
    },
  }),
})

export const verifyEmail = operation({
  route: 'POST /api/auth/verify-otp',
  summary: 'Confirm an email address and log in',
  description:
    'The code proves that you read the mailbox, not that you signed up: anyone can sign up with your address. Prove the sign-up with its `password`, or with its API key as the credential of this request. For an hour the network and User-Agent of the sign-up count as proof too. Without proof, the password and API key of the sign-up are removed, and `passwordReset` lets you choose a password.',
  access: 'public',
  limit: 'auth',
  body: VerifyEmail,
  ownPage: true,
  returns: { 200: Envelope(Confirmed) },
  headers: COOKIE_HEADERS,
  errors: [SessionCookieRefused, WrongCode, TooManyAttempts],
  example: { body: { email: 'ada@example.com', otp: '123456' } },
  handle: async ({ auth, body, caller, ownPage, remoteAddress, userAgent }) => {
    // Public operations have a caller only where a credential came along.
    const callerId = (caller as Caller | undefined)?.userId
    const confirm = () => auth.emailConfirmation.confirm(body, { remoteAddress, userAgent }, callerId)
    return replyWithTokens({ body, ownPage }, confirm, messageOfConfirmed)
  },
})

const messageOfConfirmed = ({ passwordReset }: Pick<ConfirmedData, 'passwordReset'>): string =>
  passwordReset ? 'Address confirmed. Choose a password.' : 'Address confirmed'

export const resendOtp = operation({
  route: 'POST /api/auth/resend-otp',
  summary: 'Resend the confirmation code',
  description:
    'The reply is always 200, whether or not the address is waiting for a code. At most one mail a minute and five an hour are sent.',
  access: 'public',
  limit: 'mail',
  body: ByEmail,
  returns: { 200: Done },
  example: { body: { email: 'ada@example.com' } },
  handle: async ({ auth, body, remoteAddress, userAgent }) => {
    await auth.emailConfirmation.resend(body.email, { remoteAddress, userAgent })
    return done('If the address waits for a code, another one is on its way.')
  },
})

export const login = operation({
  route: 'POST /api/auth/login',
  summary: 'Log in with email and password',
  description:
    'After five failures in a row the address is locked for 1 s, then 2, 4, 8 … up to 15 min, whether or not it has an account. Networks and devices that have logged in before are counted separately. A device identifies itself with its `deviceToken`.',
  access: 'public',
  limit: 'auth',
  body: Login,
  ownPage: true,
  returns: { 200: Envelope(SignedIn) },
  headers: COOKIE_HEADERS,
  errors: [SessionCookieRefused, WrongLogin, EmailUnverified, SecondFactorRequired, TooManyAttempts],
  example: { body: { email: 'ada@example.com', password: 'correct horse battery staple' } },
  handle: async ({ auth, body, ownPage, remoteAddress, userAgent }) =>
    replyWithTokens({ body, ownPage }, () => auth.service.login(body, { remoteAddress, userAgent })),
})

export const signInWithProvider = operation({
  route: 'POST /api/auth/oauth/{provider}',
  summary: 'Sign in with Google, Microsoft, Apple, GitHub or another OpenID Connect issuer',
  description:
    'Send an ID token (not for GitHub), or an authorization code with its PKCE verifier and redirect URI. Each ID token works once. Send the nonce if the token has one.',
  access: 'public',
  limit: 'auth',
  path: ProviderPath,
  body: ProviderSignIn,
  ownPage: true,
  returns: { 200: Envelope(SignedInWithProvider) },
  headers: COOKIE_HEADERS,
  errors: [
    SessionCookieRefused,
    ProviderNotConfigured,
    ProviderSignInFailed,
    ProviderEmailUnverified,
    ProviderUnavailable,
    SecondFactorRequired,
  ],
  example: {
    path: { provider: 'google' },
    body: {
      code: '4/0AbCdEf',
      codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      redirectUri: 'https://app.example.com/callback',
    },
  },
  handle: async ({ auth, body, ownPage, path, remoteAddress, userAgent }) =>
    replyWithTokens({ body, ownPage }, () =>
      auth.providerSignIn.signIn(path.provider, body, { remoteAddress, userAgent }),
    ),
})

export const forgotPassword = operation({
  route: 'POST /api/auth/forgot-password',
  summary: 'Request a password reset',
  description:
    'The reply is always 200, whether or not the address has an account. At most one mail a minute and five an hour are sent.',
  access: 'public',
  limit: 'mail',
  body: ByEmail,
  returns: { 200: Done },
  example: { body: { email: 'ada@example.com' } },
  handle: async ({ auth, body, remoteAddress, userAgent }) => {
    await auth.service.forgotPassword(body.email, { remoteAddress, userAgent })
    return done('If the address has an account, a link is on its way.')
  },
})

export const resetPassword = operation({
  route: 'POST /api/auth/reset-password',
  summary: 'Reset a password',
  description:
    'Ends all sessions. Confirms the address if it was not confirmed. API keys keep working, and the reply and a mail name them. `revokeApiKeys` revokes them in the same step.',
  access: 'public',
  limit: 'auth',
  body: ResetPassword,
  returns: { 200: Envelope(PasswordReset) },
  errors: [InvalidResetToken],
  example: { body: { token: 'Vd3mJ0Yk2WcXqzN5pT8rLhUe7sAbGfKi1oQyHvMxEtR', password: 'wrong pony charger pin' } },
  handle: async ({ auth, body, remoteAddress, requestId, userAgent }) => {
    const result = await auth.service.resetPassword(body, { remoteAddress, requestId, userAgent })
    return ok(`The password was changed. ${keysAfter(result)} Sign in with it.`, result)
  },
})

/** What a password reset has left of the API keys, in one sentence. */
function keysAfter({ apiKeys, revokedApiKeysCount: revoked }: Static<typeof PasswordReset>): string {
  if (revoked > 0) return `API keys revoked: ${revoked}.`
  if (apiKeys.length === 0) return 'The account has no API keys.'
  return `API keys that still work: ${apiKeys.map(({ name, prefix }) => `${name} (${prefix}…)`).join(', ')}.`
}

export const refreshToken = operation({
  route: 'POST /api/auth/refresh',
  summary: 'Refresh an access token',
  description:
    'Each refresh token works once. For 10 s it returns the same successor again, so that two tabs can share it. A token that is used later ends its session. With `"session": "cookie"` the token is read from the cookie, and only if a page of this server asks: `Origin` is its host and `Sec-Fetch-Site` is `same-origin`.',
  access: 'public',
  limit: 'auth',
  body: Refresh,
  ownPage: true,
  returns: { 200: Envelope(Tokens) },
  headers: COOKIE_HEADERS,
  errors: [SessionCookieRefused, InvalidRefreshToken, RefreshTokenReused],
  example: { body: { refreshToken: 'crr_AZquYw3OfdWtrGcbZ0kq7QAAAAHmZx0' } },
  handle: async ({ auth, body, ownPage, remoteAddress, userAgent }) => {
    const token = refreshTokenOf({ body, ownPage })
    const issue = () => auth.service.refresh(token, { remoteAddress, userAgent })
    return replyWithTokens({ body, ownPage }, issue, () => 'New tokens')
  },
})

export const logout = operation({
  route: 'POST /api/auth/logout',
  summary: 'Log out of one session or all sessions',
  description: 'Access tokens of the ended sessions stop working at once. API keys stay valid.',
  access: 'user',
  unconfirmed: true,
  body: Logout,
  bodyOptional: true,
  ownPage: true,
  returns: { 200: Envelope(Revoked) },
  headers: COOKIE_HEADERS,
  errors: [SessionCookieRefused],
  example: { body: { everywhere: false } },
  handle: async ({ auth, body, caller, ownPage }) => {
    const inCookie = cookieOf({ body, ownPage })
    const revokedCount = await auth.service.logout(caller, body ?? {}, inCookie)
    return { ...ok('Signed out', { revokedCount }), headers: endOfCookie({ body, ownPage }) }
  },
})

export const listSessions = operation({
  route: 'GET /api/auth/sessions',
  summary: 'List your sessions',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(SessionView) },
  example: {},
  handle: async ({ auth, caller, query }) => list('Sessions', await auth.service.listSessions(caller, query)),
})

export const revokeSession = operation({
  route: 'DELETE /api/auth/sessions/{id}',
  summary: 'Revoke a session',
  access: 'user',
  path: Input({ id: Id }),
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id: '0199a2b4-7c1d-7e3f-8a5b-6c7d8e9f0a1b' } },
  handle: async ({ auth, caller, path }) => {
    await auth.service.revokeSession(caller, path.id)
    return done('Session ended')
  },
})

export const createDownloadLink = operation({
  route: 'POST /api/auth/download-links',
  summary: 'Create a link to download a file',
  description:
    'For browsers, which cannot send a header with a download. The link is for any GET operation that answers with a file and needs a credential: PDF, zip, CSV, calendar, media. It works once, for a minute, for this path and query only, and counts as a request of the credential that has made it: it needs the same scopes when it is used, and does not work if the credential was revoked by then. It cannot be resumed.',
  access: 'user',
  limitedKeys: true,
  body: NewDownloadLink,
  returns: { 201: Envelope(DownloadLinkView) },
  headers: ['Cache-Control'],
  errors: [Conflict],
  example: { body: { path: '/api/posts/export?workspaceId=01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01&format=csv' } },
  handle: async ({ auth, body, caller }) => ({
    ...created('Download link created', await auth.downloads.create(caller, body.path)),
    headers: { 'Cache-Control': 'no-store' },
  }),
})
