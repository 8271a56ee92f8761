import { PlatformError } from '../error-kinds.ts'
import type { PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext, PlatformContext, PlatformSettings } from '../platform.ts'

export const TITLE = 'Reddit'

/**
 * Reddit refuses clients without their own User-Agent. Its form is `<platform>:<app id>:<version> (by /u/<name>)`;
 * the operator's name is not known here (github.com/reddit-archive/reddit/wiki/API, 2026-11).
 */
export function userAgent({ clientId = 'unknown' }: PlatformSettings): string {
  return `server:${clientId}:v0.1 (Crier)`
}

/** Calls the API for an account. @throws PlatformError */
export async function call<T>(
  { credential, http, settings, signal }: PlatformContext & Pick<AccountContext, 'credential'>,
  path: string,
  options: Omit<PlatformRequest, 'url' | 'signal'> = {},
): Promise<T> {
  if (credential.accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  const { query = {}, ...others } = options
  const { json } = await http.send({
    ...others,
    // Without it, Reddit escapes `<`, `>` and `&` in replies.
    query: { raw_json: 1, ...query },
    url: `${settings.apiUrl}${path}`,
    headers: {
      Authorization: `Bearer ${credential.accessToken}`,
      'User-Agent': userAgent(settings),
      ...options.headers,
    },
    signal,
  })
  return json as T
}

/** A listing, as Reddit returns lists of things. */
export interface Listing<T> {
  readonly data: {
    readonly after: string | null
    readonly children: readonly { readonly kind: string; readonly data: T }[]
  }
}

/** The name of a subreddit without `r/`; `u_name` for a profile. */
export function subredditOf(value: unknown): string {
  const name = typeof value === 'string' ? value.trim().replace(/^\/?r\//i, '') : ''
  return name.replace(/^\/?(?:u|user)\//i, 'u_')
}
