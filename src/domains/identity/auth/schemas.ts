import { Id, Input, Nullable, States, Text, Timestamp, Type, named, type Static } from '../../../core/schema.ts'
import { KeptApiKey } from './api-keys/schemas.ts'
import { EmailInput, UserName, UserView, UserWithKey } from '../users/index.ts'
import { GivenPassword, NewPassword } from './password-rules.ts'

/** The headers of replies that can set the session cookie. */
export const COOKIE_HEADERS = ['Set-Cookie', 'Cache-Control'] as const

/** Where a browser keeps the refresh token. */
export const SessionIn = Type.Optional(
  Type.Literal('cookie', {
    description:
      'Puts the refresh token into a cookie that scripts cannot read, and not into the reply. Only for pages of this server',
  }),
)

export const SignUp = Input({ email: EmailInput, password: NewPassword, name: Type.Optional(UserName) })
export type SignUpData = Static<typeof SignUp>

export const SignedUp = Type.Object({ message: Type.String(), user: UserWithKey })

export const VerifyEmail = Input({
  email: EmailInput,
  otp: Type.String({ pattern: '^\\d{6}$', description: 'the six digits from the mail' }),
  password: Type.Optional({
    ...NewPassword,
    description: 'The password of the sign-up, which proves that you signed up. A different password replaces it',
  }),
  session: SessionIn,
})
export type VerifyEmailData = Static<typeof VerifyEmail>

export const ByEmail = Input({ email: EmailInput })

export const Login = Input({
  email: EmailInput,
  password: GivenPassword,
  deviceToken: Type.Optional(
    Text(1, 100, {
      description:
        'The token from an earlier login on this device. With it, failed logins elsewhere cannot lock you out',
    }),
  ),
  session: SessionIn,
})
export type LoginData = Static<typeof Login>

export const ResetPassword = Input({
  token: Text(1, 200, { description: 'The token from the mail' }),
  password: NewPassword,
  revokeApiKeys: Type.Optional(
    Type.Boolean({ description: 'Also revoke all API keys of the account. Without it, they keep working' }),
  ),
})
export type ResetPasswordData = Static<typeof ResetPassword>

export const PasswordReset = named(
  'PasswordReset',
  Type.Object({
    apiKeys: Type.Array(KeptApiKey, { description: 'The API keys that still work, newest first' }),
    revokedApiKeysCount: Type.Integer({ description: 'How many API keys this reset has revoked' }),
  }),
)

const RefreshToken = Text(1, 200, { description: 'The newest refresh token of the session' })
export const Refresh = Input({
  refreshToken: Type.Optional(RefreshToken),
  session: Type.Optional(
    Type.Literal('cookie', { description: 'The refresh token is in the cookie, and so is the next one' }),
  ),
})

export const Logout = Input({
  refreshToken: Type.Optional(RefreshToken),
  everywhere: Type.Optional(Type.Boolean({ description: 'End every session of the caller' })),
  session: Type.Optional(
    Type.Literal('cookie', {
      description: 'Also ends the session whose refresh token is in the cookie, and deletes it',
    }),
  ),
})

const tokens = {
  accessToken: Type.String({ description: 'Send it as `Authorization: Bearer …`' }),
  refreshToken: Type.Optional(
    Type.String({
      description: 'Works once. POST /api/auth/refresh returns the next one. Absent with `"session": "cookie"`',
    }),
  ),
  expiresIn: Type.Integer({ description: 'Lifetime of the access token, in seconds' }),
}

export const Tokens = named('Tokens', Type.Object(tokens))

const signedIn = {
  user: UserView,
  ...tokens,
  deviceToken: Type.String({ description: 'Store it on the device and send it with later logins. It gives no access' }),
}
export const SignedIn = named('SignedIn', Type.Object(signedIn))
/** Always with the refresh token; `replyWithTokens` decides where it goes. */
export type SignedInData = Static<typeof SignedIn> & { readonly refreshToken: string }

export const Confirmed = named(
  'ConfirmedEmail',
  Type.Object({
    ...signedIn,
    passwordReset: Type.Optional(
      Type.Object(
        {
          token: Type.String({ description: 'For one request to POST /api/auth/reset-password' }),
          expiresAt: Timestamp,
        },
        {
          description:
            'Present if you did not prove that you signed up. The account then has no password and no API key',
        },
      ),
    ),
  }),
)
export type ConfirmedData = Static<typeof Confirmed> & { readonly refreshToken: string }
export const SignedInWithProvider = named(
  'SignedInWithProvider',
  Type.Object({ ...signedIn, created: Type.Boolean({ description: 'Whether this sign-in created the account' }) }),
)

export const SessionView = named(
  'Session',
  Type.Object({
    _id: Id,
    device: Type.String({ description: 'Browser or program, and operating system, from the User-Agent header' }),
    ip: Type.String({ description: 'Address from which the session was last used' }),
    method: Type.String({ description: '`password`, `code`, `passkey`, or the provider of the sign-in' }),
    secondFactor: Nullable(
      States('SecondFactorMethod', 'The second factor that a sign-in proved', {
        totp: 'A code of the authenticator app',
        recovery_code: 'A recovery code',
      }),
    ),
    current: Type.Boolean({ description: 'Whether this request uses the session' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    lastUsedAt: Timestamp,
    expiresAt: Timestamp,
  }),
)

export const Revoked = Type.Object({
  revokedCount: Type.Integer({ description: 'Number of sessions that were ended' }),
})

export const ProviderPath = Input({
  provider: Type.String({
    pattern: '^[a-z][a-z0-9-]{1,31}$',
    description: 'google, microsoft, apple, github or the name of a configured issuer',
  }),
})

export const ProviderSignIn = Input({
  idToken: Type.Optional(Text(20, 16_000, { description: 'An ID token that the front end got from the provider' })),
  code: Type.Optional(Text(1, 4_000, { description: 'An authorization code, instead of an ID token' })),
  codeVerifier: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9._~-]{43,128}$', description: 'the PKCE verifier (RFC 7636) of the code' }),
  ),
  redirectUri: Type.Optional(
    Type.String({ format: 'uri', maxLength: 2_000, description: 'the redirect URI of the code' }),
  ),
  nonce: Type.Optional(Text(1, 300, { description: 'The nonce that the front end sent to the provider' })),
  session: SessionIn,
})
export type ProviderSignInData = Static<typeof ProviderSignIn>

export const NewDownloadLink = Input({
  path: Text(1, 2_000, {
    pattern: '^/api/[\\x21-\\x7e]*$',
    description: 'the path of the file with its query, such as `/api/posts/export?workspaceId=…`',
  }),
})

export const DownloadLinkView = named(
  'DownloadLink',
  Type.Object({
    url: Type.String({ description: 'Open it in the browser. It is secret, and works once' }),
    expiresAt: { ...Timestamp, description: 'A minute after it was made' },
  }),
)
