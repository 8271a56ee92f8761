import { authorizeUrl, basicAuthorization, requestToken, type OAuthClient } from '../oauth2.ts'
import type { AccountContext, OAuthSupport, PlatformContext } from '../platform.ts'
import { profileOf } from './profile.ts'

const SCOPES = ['tweet.read', 'tweet.write', 'users.read', 'media.write', 'offline.access'] as const

/**
 * OAuth of X: PKCE with a confidential client, and access tokens of two hours
 * (docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code, 2026-11). Refresh tokens work once, as other
 * vendors report.
 */
export const oauth = {
  scopes: SCOPES,
  scopePurposes: {
    'tweet.write': 'publish and delete posts',
    'tweet.read': 'check whether a post was published, and read its figures',
    'media.write': 'attach images and videos',
    'offline.access': 'stay connected for more than two hours',
  },
  pkce: true,
  refreshStyle: 'single_use',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, codeVerifier, redirectUri }) => {
    const credential = await token(context, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
    })
    return { profile: await profileOf(context, credential), credential, scopes: credential.scopes ?? null }
  },
  refresh: (context) =>
    token(context, { grant_type: 'refresh_token', refresh_token: context.credential.refreshToken ?? '' }),
} satisfies OAuthSupport

/** Ends the grant: the refresh token first, so that nothing can renew it. */
export async function revoke(context: AccountContext): Promise<void> {
  const { clientId, clientSecret } = clientOf(context)
  const { accessToken, refreshToken } = context.credential
  for (const [token, hint] of [
    [refreshToken, 'refresh_token'],
    [accessToken, 'access_token'],
  ] as const) {
    if (token === undefined) continue
    await context.http.send({
      method: 'POST',
      url: `${context.settings.apiUrl}/2/oauth2/revoke`,
      form: { token, token_type_hint: hint },
      headers: { Authorization: basicAuthorization(clientId, clientSecret) },
      secrets: [token, clientSecret],
      signal: context.signal,
      // A token that X does not know, because it has expired or was revoked before.
      expect: [400],
    })
  }
}

function token(context: PlatformContext, grant: Readonly<Record<string, string>>) {
  const { clock, http, signal } = context
  return requestToken(clientOf(context), grant, { http, now: clock.now(), signal, title: 'X' })
}

function clientOf({ settings }: PlatformContext): OAuthClient {
  return {
    clientId: settings.clientId ?? '',
    clientSecret: settings.clientSecret ?? '',
    authorizeUrl: `${settings.authUrl}/i/oauth2/authorize`,
    tokenUrl: `${settings.apiUrl}/2/oauth2/token`,
    scopes: SCOPES,
    quirks: { clientAuth: 'basic', pkce: true },
  }
}
