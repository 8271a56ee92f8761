import { isTooYoung, requestLongToken } from '../meta/long-tokens.ts'
import { authorizeUrl, requestToken, type OAuthClient } from '../oauth2.ts'
import type { Credential, OAuthSupport, PlatformContext } from '../platform.ts'
import { call, TITLE } from './graph.ts'
import { profileOf } from './profile.ts'

const SCOPES = [
  'threads_basic',
  'threads_content_publish',
  'threads_manage_replies',
  'threads_read_replies',
  'threads_manage_insights',
  'threads_delete',
] as const

/**
 * Authorization of the Threads API (developers.facebook.com, Get access tokens and Long-lived tokens, 2026-11). Meta
 * documents no way to revoke a grant; a user ends it in the settings of Threads.
 */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    threads_basic: 'read the profile and the posts of the account',
    threads_content_publish: 'publish posts',
    threads_manage_replies: 'publish threads and first comments',
    threads_read_replies: 'check whether a reply was published',
    threads_manage_insights: 'read figures of posts, followers and the audience',
    threads_delete: 'delete posts',
  },
  pkce: false,
  refreshStyle: 'exchange',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, redirectUri }) => {
    const { clock, http, settings, signal } = context
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
    const short = await requestToken(clientOf(context), grant, { http, now: clock.now(), signal, title: TITLE })
    const long = await requestLongToken(TITLE, context, 'access_token', {
      grant_type: 'th_exchange_token',
      client_secret: settings.clientSecret ?? '',
      access_token: short.accessToken ?? '',
    })
    const scopes = await grantedScopes(context, long)
    const credential = { ...long, ...(scopes !== null && { scopes }) }
    return { profile: await profileOf({ ...context, credential }), credential, scopes }
  },
  refresh: async (context) => {
    const { clock, credential } = context
    if (isTooYoung(credential, clock.now())) return credential
    return requestLongToken(TITLE, context, 'refresh_access_token', {
      grant_type: 'th_refresh_token',
      access_token: credential.accessToken ?? '',
    })
  },
}

function clientOf({ settings }: Pick<PlatformContext, 'settings'>): OAuthClient {
  return {
    clientId: settings.clientId ?? '',
    clientSecret: settings.clientSecret ?? '',
    authorizeUrl: `${settings.authUrl}/oauth/authorize`,
    tokenUrl: `${settings.apiUrl}/oauth/access_token`,
    scopes: SCOPES,
    quirks: { clientAuth: 'body', pkce: false, scopeSeparator: ',' },
  }
}

/** The granted scopes, which the token responses leave out (Threads debug token, 2026-11). */
async function grantedScopes(context: PlatformContext, credential: Credential): Promise<readonly string[] | null> {
  const { data } = (await call({ ...context, credential }, 'debug_token', {
    query: { input_token: credential.accessToken },
  })) as { data?: { scopes?: readonly string[] } }
  return data?.scopes ?? null
}
