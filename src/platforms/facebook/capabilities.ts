import { PlatformError } from '../error-kinds.ts'
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
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const { credential } = context
  if (pageOf(credential) === undefined) {
    return {
      limits: {},
      blocked: { publish: 'This is a login, which cannot publish. Choose pages of it.' },
      details: {},
    }
  }
  const accessToken = credential.accessToken ?? ''
  const { data } = await tokenInfo(context, accessToken)
  const { data_access_expires_at: dataUntil, is_valid: isValid, scopes = [] } = data ?? {}
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

/** What Facebook knows of a token. An invalid token is no error here: the reply says so. */
async function tokenInfo({ http, settings, signal }: AccountContext, accessToken: string): Promise<TokenInfo> {
  const { clientId = '', clientSecret = '' } = settings
  try {
    const { json } = await http.send({
      url: `${settings.apiUrl}/${VERSION}/debug_token`,
      query: { input_token: accessToken },
      // An app token: Facebook accepts id and secret for calls about the app's own tokens.
      headers: { Authorization: `Bearer ${clientId}|${clientSecret}` },
      secrets: [accessToken, clientSecret],
      signal,
    })
    return json as TokenInfo
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind !== 'auth_expired') throw error
    // The token that was refused is the app's.
    const { code, detail, httpStatus } = error
    throw new PlatformError('app_misconfigured', TITLE, { code, detail, httpStatus, cause: error })
  }
}
