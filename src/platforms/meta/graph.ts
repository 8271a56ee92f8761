import { createHmac } from 'node:crypto'
import { PlatformError } from '../error-kinds.ts'
import type { PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'

/** One of Meta's Graph APIs. */
export interface GraphApi {
  /** The title of the platform, for errors. */
  readonly title: string
  /** Part of every path, such as `v24.0`. Meta supports a version of the Graph API for about two years. */
  readonly version: string
  /**
   * Whether calls carry `appsecret_proof`, which proves that the caller knows the secret of the app. An operator can
   * require it in the settings of the app (developers.facebook.com, Secure Graph API calls, 2026-11).
   */
  readonly proof: boolean
}

export type GraphOptions = Omit<PlatformRequest, 'url' | 'json'>

/** What a call needs of the context of an account. */
export type GraphContext = Pick<AccountContext, 'credential' | 'http' | 'settings' | 'signal'>

/**
 * Calls a Graph API. The token is sent in the header, because URLs are logged.
 * @param path without the version, such as `me/accounts`
 * @throws PlatformError
 */
export async function callGraph(
  { proof, title, version }: GraphApi,
  { credential, http, settings, signal }: GraphContext,
  path: string,
  { headers, query, ...options }: GraphOptions = {},
): Promise<unknown> {
  const { accessToken } = credential
  if (accessToken === undefined) throw new PlatformError('auth_expired', title, { mayHaveHappened: false })
  const { json } = await http.send({
    ...options,
    url: `${settings.apiUrl}/${version}/${path}`,
    query: { ...query, ...(proof && { appsecret_proof: proofOf(accessToken, settings.clientSecret ?? '') }) },
    headers: { Authorization: `Bearer ${accessToken}`, ...headers },
    secrets: [accessToken],
    signal,
  })
  return json
}

function proofOf(accessToken: string, clientSecret: string): string {
  return createHmac('sha256', clientSecret).update(accessToken).digest('hex')
}

/**
 * How long a long-lived token lives, if the reply does not say: 60 days
 * (developers.facebook.com/docs/facebook-login/guides/access-tokens/get-long-lived,
 * /docs/threads/get-started/long-lived-tokens and
 * /documentation/instagram-platform/reference/refresh_access_token, 2026-11).
 */
export const LONG_LIFE_MS = 60 * 86_400_000
