import { authorizeUrl, refreshToken, requestToken, type OAuthClient } from '../oauth2.ts'
import type { AccountContext, OAuthSupport, PlatformContext, PlatformSettings } from '../platform.ts'
import { TITLE } from './api.ts'
import { profileOf } from './channel.ts'

const SCOPE = 'https://www.googleapis.com/auth/youtube'
const SCOPES = [`${SCOPE}.upload`, `${SCOPE}.readonly`, `${SCOPE}.force-ssl`] as const
const GOOGLE = 'https://accounts.google.com'

/**
 * OAuth of Google: access for an hour, and a refresh token that stays the same. It comes only with `access_type=offline`,
 * and only after a consent (developers.google.com/identity/protocols/oauth2/web-server, 2026-11).
 */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    [`${SCOPE}.upload`]: 'upload videos',
    [`${SCOPE}.readonly`]: 'find the channel, and read figures of videos',
    [`${SCOPE}.force-ssl`]: 'set thumbnails, write first comments, and edit and delete videos',
  },
  pkce: true,
  refreshStyle: 'reusable',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, codeVerifier, redirectUri }) => {
    const { clock, http, signal } = context
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier }
    const credential = await requestToken(clientOf(context), grant, { http, now: clock.now(), signal, title: TITLE })
    const profile = await profileOf({ ...context, credential, remoteId: '' })
    return { profile, credential, scopes: credential.scopes ?? null }
  },
  refresh: (context) => refreshToken(clientOf(context), context, TITLE),
}

/** Ends the grant. */
export async function revoke({ credential, http, settings, signal }: AccountContext): Promise<void> {
  const token = credential.refreshToken ?? credential.accessToken ?? ''
  await http.send({
    method: 'POST',
    url: `${tokenHost(settings)}/revoke`,
    form: { token },
    secrets: [token],
    // A token that Google does not recognize is already revoked.
    expect: [400],
    signal,
  })
}

function clientOf({ settings }: PlatformContext): OAuthClient {
  const { authUrl, clientId = '', clientSecret = '' } = settings
  return {
    clientId,
    clientSecret,
    authorizeUrl: `${authUrl}/o/oauth2/v2/auth`,
    tokenUrl: `${tokenHost(settings)}/token`,
    scopes: SCOPES,
    quirks: {
      clientAuth: 'body',
      pkce: true,
      authorizeParams: { access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true' },
    },
  }
}

/** Google has its token endpoint on another host than its consent page. Any other server has both on one. */
function tokenHost({ authUrl }: PlatformSettings): string {
  return authUrl === GOOGLE ? 'https://oauth2.googleapis.com' : authUrl
}
