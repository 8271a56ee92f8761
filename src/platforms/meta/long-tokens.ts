import { credentialOf } from '../oauth2.ts'
import type { Credential, PlatformContext } from '../platform.ts'
import { LONG_LIFE_MS } from './graph.ts'

/**
 * Instagram and Threads refuse to refresh a token in its first 24 hours
 * (developers.facebook.com/documentation/instagram-platform/reference/refresh_access_token and
 * /docs/threads/get-started/long-lived-tokens, 2026-11).
 */
const MIN_AGE_MS = 86_400_000

/**
 * Exchanges or refreshes a token of Instagram or Threads, whose endpoints take the parameters in the URL only.
 * @param path such as `refresh_access_token`
 * @param query with the token and, for an exchange, the secret of the app
 * @throws PlatformError
 */
export async function requestLongToken(
  title: string,
  { clock, http, settings, signal }: PlatformContext,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Credential> {
  const { json } = await http.send({
    url: `${settings.apiUrl}/${path}`,
    query,
    secrets: Object.values(query),
    signal,
  })
  const issuedAt = clock.now()
  return { expiresAt: issuedAt + LONG_LIFE_MS, ...credentialOf(json, issuedAt, title), issuedAt }
}

/** Whether a token is too young to be refreshed. It is then valid for almost its whole life. */
export function isTooYoung({ issuedAt }: Credential, now: number): boolean {
  return typeof issuedAt === 'number' && now - issuedAt < MIN_AGE_MS
}
