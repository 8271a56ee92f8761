import type { AccountContext, LiveCapabilities } from '../platform.ts'
import { TITLE, VERSION } from './graph.ts'
import { pageOf } from './profile.ts'

/** The reply of `debug_token` (developers.facebook.com, Debug token, 2026-11). Times are seconds; 0 means never. */
interface TokenInfo {
  readonly data?: {
    readonly is_valid?: boolean
    readonly scopes?: readonly string[]
    readonly expires_at?: number
    readonly data_access_expires_at?: number
  }
}

/** What the token of a page allows. A login cannot publish. @throws PlatformError */
export async function capabilities({ credential, http, settings, signal }: AccountContext): Promise<LiveCapabilities> {
  if (pageOf(credential) === undefined) {
    return {
      limits: {},
      blocked: { publish: 'This is a login, which cannot publish. Choose pages of it.' },
      details: {},
    }
  }
  const { clientId = '', clientSecret = '' } = settings
  const accessToken = credential.accessToken ?? ''
  const { json } = await http.send({
    url: `${settings.apiUrl}/${VERSION}/debug_token`,
    query: { input_token: accessToken },
    // An app token: Facebook accepts id and secret for calls about the app's own tokens.
    headers: { Authorization: `Bearer ${clientId}|${clientSecret}` },
    secrets: [accessToken, clientSecret],
    signal,
  })
  const { data_access_expires_at: dataUntil, is_valid: isValid, scopes = [] } = (json as TokenInfo).data ?? {}
  const missing = (scope: string) => `${TITLE} has not granted ${scope}. Connect the login again and allow it.`
  return {
    limits: {},
    blocked: {
      ...(!scopes.includes('pages_manage_posts') && { publish: missing('pages_manage_posts') }),
      ...(isValid === false && { publish: 'The access to the page has ended. Connect the login again.' }),
      ...(!scopes.includes('pages_manage_engagement') && { comment: missing('pages_manage_engagement') }),
    },
    details: {
      ...(dataUntil !== undefined &&
        dataUntil > 0 && { dataAccessExpiresAt: new Date(dataUntil * 1_000).toISOString() }),
    },
  }
}
