import { PlatformError } from '../error-kinds.ts'
import { isTooYoung, requestLongToken } from '../meta/long-tokens.ts'
import { authorizeUrl, type OAuthClient } from '../oauth2.ts'
import type { CallbackRequest, OAuthSupport, PlatformContext } from '../platform.ts'
import { TITLE } from './graph.ts'
import { profileOf } from './profile.ts'

const SCOPES = [
  'instagram_business_basic',
  'instagram_business_content_publish',
  'instagram_business_manage_comments',
  'instagram_business_manage_insights',
] as const

/**
 * Business Login for Instagram (developers.facebook.com, Instagram API with Instagram Login, 2026-11). Meta documents no
 * way to revoke a grant; a user ends it in the settings of Instagram.
 */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    instagram_business_basic: 'read the profile and the posts of the account',
    instagram_business_content_publish: 'publish posts, reels and stories',
    instagram_business_manage_comments: 'write and delete first comments',
    instagram_business_manage_insights: 'read figures of posts',
  },
  pkce: false,
  refreshStyle: 'exchange',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, request) => {
    const { scopes, token } = await shortToken(context, request)
    const long = await requestLongToken(TITLE, context, 'access_token', {
      grant_type: 'ig_exchange_token',
      client_secret: context.settings.clientSecret ?? '',
      access_token: token,
    })
    const credential = { ...long, ...(scopes !== null && { scopes }) }
    const profile = await profileOf({ ...context, credential })
    if (profile.kind === 'personal') {
      throw new PlatformError('unsupported', TITLE, {
        code: 'personal_account',
        detail: `@${profile.handle} is a personal account. Switch it to a business or creator account in the settings of Instagram.`,
        mayHaveHappened: false,
      })
    }
    return { profile, credential, scopes }
  },
  refresh: async (context) => {
    const { clock, credential } = context
    if (isTooYoung(credential, clock.now())) return credential
    return requestLongToken(TITLE, context, 'refresh_access_token', {
      grant_type: 'ig_refresh_token',
      access_token: credential.accessToken ?? '',
    })
  },
}

function clientOf({ settings }: Pick<PlatformContext, 'settings'>): OAuthClient {
  return {
    clientId: settings.clientId ?? '',
    clientSecret: settings.clientSecret ?? '',
    authorizeUrl: `${settings.authUrl}/oauth/authorize`,
    // The code is exchanged at another host than all other calls: api.instagram.com instead of graph.instagram.com.
    tokenUrl: `${settings.apiUrl.replace('//graph.', '//api.')}/oauth/access_token`,
    scopes: SCOPES,
    quirks: { clientAuth: 'body', pkce: false, scopeSeparator: ',' },
  }
}

interface ShortToken {
  readonly access_token?: string
  readonly permissions?: string | readonly string[]
}

/** The token of one hour. The reply was documented both as an object and as `data` of one object. */
async function shortToken({ http, settings, signal }: PlatformContext, { code, redirectUri }: CallbackRequest) {
  const { clientId, clientSecret, tokenUrl } = clientOf({ settings })
  const { json } = await http.send({
    method: 'POST',
    url: tokenUrl,
    form: {
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'authorization_code',
      redirect_uri: redirectUri,
      code,
    },
    secrets: [clientSecret, code],
    signal,
  })
  const { data: [first] = [], ...flat } = (json ?? {}) as ShortToken & { readonly data?: readonly ShortToken[] }
  const { access_token: token = '', permissions } = first ?? flat
  if (token === '') throw new PlatformError('unknown', TITLE, { code: 'no_access_token' })
  const scopes = typeof permissions === 'string' ? permissions.split(',') : (permissions ?? null)
  return { token, scopes }
}
