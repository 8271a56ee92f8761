import type { Caller } from '../../../core/caller.ts'
import { EmailUnverified, NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery } from '../../../core/page.ts'
import { done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf } from '../../../core/schema.ts'
import { EmailInUse } from '../users/index.ts'
import {
  InvalidRefreshToken,
  InvalidResetToken,
  ProviderEmailUnverified,
  ProviderNotConfigured,
  ProviderSignInFailed,
  ProviderUnavailable,
  RefreshTokenReused,
  TooManyAttempts,
  WrongCode,
  WrongLogin,
} from './errors.ts'
import {
  ByEmail,
  Confirmed,
  Login,
  Logout,
  ProviderPath,
  ProviderSignIn,
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

export const signUp = operation({
  route: 'POST /api/auth/signup',
  summary: 'Sign up with e-mail and password',
  description:
    'The API key is shown this once; until the address is confirmed it only reads the profile. A six-digit code is mailed; POST /api/auth/verify-otp confirms the address with it.',
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
      user: await auth.signUp(body, { remoteAddress, userAgent }),
    },
  }),
})

export const verifyEmail = operation({
  route: 'POST /api/auth/verify-otp',
  summary: 'Confirm an e-mail address with the mailed code, and sign in',
  description:
    'The code proves that you read the mailbox, not that you signed up: anybody can sign up with your address. Prove it with the `password` of the sign-up, or with its API key as the credential of this request; otherwise the network and the User-Agent of the sign-up are taken as proof for an hour. Without proof the password and the API key of the sign-up are removed, and `passwordReset` lets you choose a password.',
  access: 'public',
  limit: 'auth',
  body: VerifyEmail,
  returns: { 200: Envelope(Confirmed) },
  errors: [WrongCode, TooManyAttempts],
  example: { body: { email: 'ada@example.com', otp: '123456' } },
  handle: async ({ body, caller, emailConfirmation, remoteAddress, userAgent }) => {
    // Public operations have a caller only where a credential came along.
    const callerId = (caller as Caller | undefined)?.userId
    const confirmed = await emailConfirmation.confirm(body, { remoteAddress, userAgent }, callerId)
    return ok(confirmed.passwordReset ? 'Address confirmed. Choose a password.' : 'Address confirmed', confirmed)
  },
})

export const resendOtp = operation({
  route: 'POST /api/auth/resend-otp',
  summary: 'Mail another code',
  description: 'Always 200, whether or not the address waits for a code. At most one mail a minute, and five an hour.',
  access: 'public',
  limit: 'mail',
  body: ByEmail,
  returns: { 200: Done },
  example: { body: { email: 'ada@example.com' } },
  handle: async ({ body, emailConfirmation, remoteAddress, userAgent }) => {
    await emailConfirmation.resend(body.email, { remoteAddress, userAgent })
    return done('If the address waits for a code, another one is on its way.')
  },
})

export const login = operation({
  route: 'POST /api/auth/login',
  summary: 'Sign in with e-mail and password',
  description:
    'After five failures in a row the address is locked for 1 s, then 2, 4, 8 … up to 15 min, whether or not it has an account. Networks and devices from which somebody has signed in count for themselves: a device shows it with its `deviceToken`.',
  access: 'public',
  limit: 'auth',
  body: Login,
  returns: { 200: Envelope(SignedIn) },
  errors: [WrongLogin, EmailUnverified, TooManyAttempts],
  example: { body: { email: 'ada@example.com', password: 'correct horse battery staple' } },
  handle: async ({ auth, body, remoteAddress, userAgent }) =>
    ok('Signed in', await auth.login(body, { remoteAddress, userAgent })),
})

export const signInWithProvider = operation({
  route: 'POST /api/auth/oauth/{provider}',
  summary: 'Sign in with Google, Microsoft, Apple, GitHub or another OpenID Connect issuer',
  description:
    'With an ID token that the front end got (not GitHub), or with an authorization code, its PKCE verifier and redirect URI. Each ID token signs in once. Send the nonce when the token has one.',
  access: 'public',
  limit: 'auth',
  path: ProviderPath,
  body: ProviderSignIn,
  returns: { 200: Envelope(SignedInWithProvider) },
  errors: [ProviderNotConfigured, ProviderSignInFailed, ProviderEmailUnverified, ProviderUnavailable],
  example: {
    path: { provider: 'google' },
    body: {
      code: '4/0AbCdEf',
      codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      redirectUri: 'https://app.example.com/callback',
    },
  },
  handle: async ({ body, path, providerSignIn, remoteAddress, userAgent }) =>
    ok('Signed in', await providerSignIn.signIn(path.provider, body, { remoteAddress, userAgent })),
})

export const forgotPassword = operation({
  route: 'POST /api/auth/forgot-password',
  summary: 'Mail a link to choose a new password',
  description: 'Always 200, whether or not the address has an account. At most one mail a minute, and five an hour.',
  access: 'public',
  limit: 'mail',
  body: ByEmail,
  returns: { 200: Done },
  example: { body: { email: 'ada@example.com' } },
  handle: async ({ auth, body, remoteAddress, userAgent }) => {
    await auth.forgotPassword(body.email, { remoteAddress, userAgent })
    return done('If the address has an account, a link is on its way.')
  },
})

export const resetPassword = operation({
  route: 'POST /api/auth/reset-password',
  summary: 'Choose a new password with the mailed token',
  description: 'Ends all sessions. Confirms the address too, if it was not yet.',
  access: 'public',
  limit: 'auth',
  body: ResetPassword,
  returns: { 200: Done },
  errors: [InvalidResetToken],
  example: { body: { token: 'Vd3mJ0Yk2WcXqzN5pT8rLhUe7sAbGfKi1oQyHvMxEtR', password: 'wrong pony charger pin' } },
  handle: async ({ auth, body }) => {
    await auth.resetPassword(body.token, body.password)
    return done('The password was changed. Sign in with it.')
  },
})

export const refreshToken = operation({
  route: 'POST /api/auth/refresh',
  summary: 'Exchange a refresh token for a new pair of tokens',
  description:
    'Each refresh token works once; for 10 s more it gives the same next one again, for a second tab. After that a token that comes again ends its session.',
  access: 'public',
  limit: 'auth',
  body: Refresh,
  returns: { 200: Envelope(Tokens) },
  errors: [InvalidRefreshToken, RefreshTokenReused],
  example: { body: { refreshToken: 'crr_AZquYw3OfdWtrGcbZ0kq7QAAAAHmZx0' } },
  handle: async ({ auth, body, remoteAddress, userAgent }) =>
    ok('New tokens', await auth.refresh(body.refreshToken, { remoteAddress, userAgent })),
})

export const logout = operation({
  route: 'POST /api/auth/logout',
  summary: 'End the caller’s session, that of a refresh token, or all',
  description: 'Access tokens of the ended sessions are refused at once. API keys stay.',
  access: 'user',
  unconfirmed: true,
  body: Logout,
  bodyOptional: true,
  returns: { 200: Envelope(Revoked) },
  example: { body: { everywhere: false } },
  handle: async ({ auth, body, caller }) => ok('Signed out', { revokedCount: await auth.logout(caller, body ?? {}) }),
})

export const listSessions = operation({
  route: 'GET /api/auth/sessions',
  summary: 'List where the caller is signed in',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(SessionView) },
  example: {},
  handle: async ({ auth, caller, query }) => list('Sessions', await auth.listSessions(caller, query)),
})

export const revokeSession = operation({
  route: 'DELETE /api/auth/sessions/{id}',
  summary: 'End one of the caller’s sessions',
  access: 'user',
  path: Input({ id: Id }),
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id: '0199a2b4-7c1d-7e3f-8a5b-6c7d8e9f0a1b' } },
  handle: async ({ auth, caller, path }) => {
    await auth.revokeSession(caller, path.id)
    return done('Session ended')
  },
})
