import { authorizeUrl, refreshToken, requestToken, type OAuthClient } from '../oauth2.ts'
import type { AccountContext, OAuthSupport, PlatformContext, Profile } from '../platform.ts'
import { PlatformError } from '../error-kinds.ts'
import { call, TITLE } from './api.ts'

const SCOPES = ['user.info.basic', 'user.info.profile', 'video.publish', 'video.upload', 'video.list'] as const

/**
 * OAuth of TikTok: `client_key` for the client id, scopes separated by commas, access for two hours, and a refresh token
 * of 180 days that each refresh replaces (developers.tiktok.com/docs/en/oauth-refresh-a-user-access-token and
 * /oauth-user-access-token-management, 2026-11). Until 2026 it was a day and a year, so the reply decides.
 */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    'user.info.profile': 'show the user name and link to posts',
    'video.publish': 'publish videos and photos',
    'video.upload': 'put drafts into the inbox of the account',
    'video.list': 'read figures of posts, and check whether a post of photos was published',
  },
  pkce: true,
  refreshStyle: 'single_use',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, codeVerifier, redirectUri }) => {
    const { clock, http, signal } = context
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier }
    const token = await requestToken(clientOf(context), grant, { http, now: clock.now(), signal, title: TITLE })
    const profile = await profileOf({ ...context, credential: token, remoteId: '' })
    // The links to posts contain the user name.
    const credential = { ...token, username: profile.handle }
    return { profile, credential, scopes: token.scopes ?? null }
  },
  refresh: (context) => refreshToken(clientOf(context), context, TITLE),
}

/** Ends the grant. */
export async function revoke({ credential, http, settings, signal }: AccountContext): Promise<void> {
  const { clientId = '', clientSecret = '' } = settings
  try {
    await http.send({
      method: 'POST',
      url: `${settings.apiUrl}/v2/oauth/revoke/`,
      form: { client_key: clientId, client_secret: clientSecret, token: credential.accessToken },
      secrets: [clientSecret, credential.accessToken ?? ''],
      signal,
    })
  } catch (error) {
    // A token that TikTok does not recognize is already revoked.
    if (!(error instanceof PlatformError) || error.kind !== 'auth_expired') throw error
  }
}

interface User {
  readonly open_id: string
  readonly display_name?: string
  readonly avatar_url?: string
  readonly username?: string
}

/** The account that a token belongs to. @throws PlatformError */
export async function profileOf(context: AccountContext): Promise<Profile> {
  const { scopes } = context.credential
  const basic = 'open_id,avatar_url,display_name'
  // TikTok refuses the whole call when a field needs a scope that the user denied.
  const fields = scopes === undefined || scopes.includes('user.info.profile') ? `${basic},username` : basic
  const { data } = await call(context, '/v2/user/info/', { method: 'GET', query: { fields } })
  const {
    avatar_url: avatarUrl = null,
    display_name: name,
    open_id: remoteId,
    username,
  } = (data as { user: User }).user
  return {
    remoteId,
    name: name ?? username ?? remoteId,
    handle: username ?? null,
    avatarUrl,
    url: username === undefined ? null : `https://www.tiktok.com/@${username}`,
    kind: 'creator',
  }
}

function clientOf({ settings }: PlatformContext): OAuthClient {
  const { apiUrl, authUrl, clientId = '', clientSecret = '' } = settings
  return {
    clientId,
    clientSecret,
    authorizeUrl: `${authUrl}/v2/auth/authorize/`,
    tokenUrl: `${apiUrl}/v2/oauth/token/`,
    scopes: SCOPES,
    quirks: { clientIdParam: 'client_key', scopeSeparator: ',', clientAuth: 'body', pkce: true },
  }
}
