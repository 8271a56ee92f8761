import { PlatformError } from '../error-kinds.ts'
import { LONG_LIFE_MS } from '../meta/graph.ts'
import { authorizeUrl, requestToken, type OAuthClient } from '../oauth2.ts'
import type { Credential, OAuthSupport, PlatformContext } from '../platform.ts'
import { call, TITLE, VERSION } from './graph.ts'
import { pageOf, profileOf } from './profile.ts'

const SCOPES = [
  'pages_show_list',
  'pages_read_engagement',
  'pages_manage_posts',
  'pages_manage_engagement',
  'business_management',
] as const

/**
 * Facebook Login (developers.facebook.com, Manually build a login flow and Long-lived access tokens, 2026-11). The
 * short-lived token is exchanged at once for one of about 60 days, because page tokens that derive from a long-lived
 * token do not expire.
 */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    pages_show_list: 'list your pages',
    pages_read_engagement: 'read pages and posts, and check whether a post was published',
    pages_manage_posts: 'publish, edit and delete posts',
    pages_manage_engagement: 'write first comments',
    business_management: 'list pages that belong to a business portfolio',
  },
  pkce: false,
  refreshStyle: 'exchange',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, redirectUri }) => {
    const short = await token(context, { grant_type: 'authorization_code', code, redirect_uri: redirectUri })
    const long = await extended(context, short)
    const scopes = await grantedScopes(context, long)
    const credential = { ...long, scopes }
    return { profile: await profileOf({ ...context, credential }), credential, scopes }
  },
  refresh: async (context) => {
    if (pageOf(context.credential) !== undefined) {
      throw new PlatformError('auth_expired', TITLE, {
        code: 'page_token',
        detail: 'The access to the page has ended, and page tokens cannot be refreshed.',
        mayHaveHappened: false,
      })
    }
    return extended(context, context.credential)
  },
}

function clientOf({ settings }: Pick<PlatformContext, 'settings'>): OAuthClient {
  return {
    clientId: settings.clientId ?? '',
    clientSecret: settings.clientSecret ?? '',
    authorizeUrl: `${settings.authUrl}/${VERSION}/dialog/oauth`,
    tokenUrl: `${settings.apiUrl}/${VERSION}/oauth/access_token`,
    scopes: SCOPES,
    quirks: {
      clientAuth: 'body',
      pkce: false,
      scopeSeparator: ',',
      // Without it, Facebook does not ask again for permissions that the user has declined.
      authorizeParams: { auth_type: 'rerequest' },
    },
  }
}

function token(context: PlatformContext, grant: Readonly<Record<string, string | undefined>>): Promise<Credential> {
  const { clock, http, signal } = context
  return requestToken(clientOf(context), grant, { http, now: clock.now(), signal, title: TITLE })
}

/** A long-lived token for a valid one. Facebook leaves out the lifetime at times. */
async function extended(context: PlatformContext, { accessToken }: Credential): Promise<Credential> {
  const long = await token(context, { grant_type: 'fb_exchange_token', fb_exchange_token: accessToken })
  return { expiresAt: context.clock.now() + LONG_LIFE_MS, ...long }
}

interface Permission {
  readonly permission: string
  readonly status: 'granted' | 'declined' | 'expired'
}

/** The permissions that the user granted. The token response does not list them. */
async function grantedScopes(context: PlatformContext, credential: Credential): Promise<string[]> {
  const { data } = (await call({ ...context, credential }, 'me/permissions')) as { data: readonly Permission[] }
  return data.flatMap(({ permission, status }) => (status === 'granted' ? [permission] : []))
}
