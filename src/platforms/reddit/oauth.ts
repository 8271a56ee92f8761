import { authorizeUrl, basicAuthorization, requestToken, type OAuthClient } from '../oauth2.ts'
import type { AccountContext, OAuthSupport, PlatformContext } from '../platform.ts'
import { TITLE, userAgent } from './call.ts'
import { profileOf } from './profile.ts'

const SCOPES = ['identity', 'submit', 'read', 'history', 'mysubreddits', 'flair', 'edit'] as const

/**
 * OAuth of Reddit: access tokens of one hour, and a refresh token that stays the same. `duration=permanent` is needed for
 * it (github.com/reddit-archive/reddit/wiki/OAuth2, 2026-11).
 */
export const oauth = {
  scopes: SCOPES,
  scopePurposes: {
    submit: 'publish posts and comments',
    history: 'check whether a post was published',
    read: 'read the rules of a subreddit and the figures of a post',
    mysubreddits: 'list your subreddits',
    flair: 'list the flairs of a subreddit',
    edit: 'edit and delete posts',
  },
  pkce: false,
  refreshStyle: 'reusable',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, redirectUri }) => {
    const token = await tokenOf(context, { grant_type: 'authorization_code', code, redirect_uri: redirectUri })
    const profile = await profileOf(context, token)
    // Listings are read by name, which never changes at Reddit.
    return { profile, credential: { ...token, username: profile.handle }, scopes: token.scopes ?? null }
  },
  refresh: async (context) => {
    const { refreshToken = '', username } = context.credential
    const token = await tokenOf(context, { grant_type: 'refresh_token', refresh_token: refreshToken })
    return { ...token, ...(username !== undefined && { username }) }
  },
} satisfies OAuthSupport

/** Ends the grant. Reddit sends the same reply for tokens that it does not know. */
export async function revoke(context: AccountContext): Promise<void> {
  const { credential, http, settings, signal } = context
  const { clientId, clientSecret } = clientOf(context)
  const { accessToken = '', refreshToken } = credential
  await http.send({
    method: 'POST',
    url: `${settings.authUrl}/api/v1/revoke_token`,
    // Revoking a refresh token ends its access tokens too.
    form: {
      token: refreshToken ?? accessToken,
      token_type_hint: refreshToken === undefined ? 'access_token' : 'refresh_token',
    },
    headers: { Authorization: basicAuthorization(clientId, clientSecret), 'User-Agent': userAgent(settings) },
    secrets: [refreshToken ?? accessToken, clientSecret],
    signal,
  })
}

function tokenOf(context: PlatformContext, grant: Readonly<Record<string, string>>) {
  const { clock, http, signal } = context
  return requestToken(clientOf(context), grant, { http, now: clock.now(), signal, title: TITLE })
}

function clientOf({ settings }: PlatformContext): OAuthClient {
  return {
    clientId: settings.clientId ?? '',
    clientSecret: settings.clientSecret ?? '',
    authorizeUrl: `${settings.authUrl}/api/v1/authorize`,
    tokenUrl: `${settings.authUrl}/api/v1/access_token`,
    scopes: SCOPES,
    quirks: { clientAuth: 'basic', pkce: false, authorizeParams: { duration: 'permanent' } },
    headers: { 'User-Agent': userAgent(settings) },
  }
}
