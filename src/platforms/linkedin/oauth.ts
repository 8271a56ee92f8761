import { authorizeUrl, refreshToken, requestToken, type OAuthClient } from '../oauth2.ts'
import type { AccountContext, OAuthSupport, PlatformContext } from '../platform.ts'
import { isOrganization, TITLE } from './api.ts'
import { profileOf } from './profile.ts'

const SCOPES = [
  'openid',
  'profile',
  'w_member_social',
  'r_organization_social',
  'w_organization_social',
  'rw_organization_admin',
] as const

/**
 * OAuth of LinkedIn: access for 60 days. A refresh token of 365 days comes only with apps that LinkedIn has approved for
 * it, and a refresh does not extend it (learn.microsoft.com/en-us/linkedin/shared/authentication/programmatic-refresh-tokens,
 * 2026-11).
 */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    w_member_social: 'publish and comment as the member',
    w_organization_social: 'publish and comment as an organization',
    r_organization_social: 'check whether a post of an organization was published, and read its figures',
    rw_organization_admin: 'find the organizations that the member manages',
  },
  pkce: false,
  refreshStyle: 'reusable',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, redirectUri }) => {
    const { clock, http, signal } = context
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
    const credential = await requestToken(clientOf(context), grant, { http, now: clock.now(), signal, title: TITLE })
    const profile = await profileOf({ ...context, credential, remoteId: '' })
    return { profile, credential, scopes: credential.scopes ?? null }
  },
  refresh: (context) => refreshToken(clientOf(context), context, TITLE),
}

/** Ends the grant of the member. Organizations share this grant, so it ends only with the member’s account. */
export async function revoke({ credential, http, remoteId, settings, signal }: AccountContext): Promise<void> {
  if (isOrganization(remoteId)) return
  const { authUrl, clientId = '', clientSecret = '' } = settings
  await http.send({
    method: 'POST',
    url: `${authUrl}/oauth/v2/revoke`,
    form: { client_id: clientId, client_secret: clientSecret, token: credential.accessToken },
    secrets: [clientSecret, credential.accessToken ?? ''],
    // A token that LinkedIn does not recognize is already revoked.
    expect: [400],
    signal,
  })
}

function clientOf({ settings }: PlatformContext): OAuthClient {
  const { authUrl, clientId = '', clientSecret = '' } = settings
  return {
    clientId,
    clientSecret,
    authorizeUrl: `${authUrl}/oauth/v2/authorization`,
    tokenUrl: `${authUrl}/oauth/v2/accessToken`,
    scopes: SCOPES,
    quirks: { clientAuth: 'body', pkce: false },
  }
}
