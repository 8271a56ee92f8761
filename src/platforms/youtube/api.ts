import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply, PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'

export const TITLE = 'YouTube'

/** Calls the Data API. @throws PlatformError */
export function call(
  { credential, http, settings, signal }: AccountContext,
  path: string,
  options: Omit<PlatformRequest, 'url'> = {},
): Promise<PlatformReply> {
  if (credential.accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  return http.send({
    ...options,
    url: path.startsWith('http') ? path : `${settings.apiUrl}${path}`,
    headers: { Authorization: `Bearer ${credential.accessToken}`, ...options.headers },
    signal,
  })
}

/** The items of a list. @throws PlatformError */
export async function list(
  context: AccountContext,
  resource: string,
  query: NonNullable<PlatformRequest['query']>,
): Promise<readonly unknown[]> {
  const { json } = await call(context, `/youtube/v3/${resource}`, { query })
  // An empty list is left out.
  return (json as { items?: readonly unknown[] }).items ?? []
}

export function refusal(kind: 'unsupported' | 'validation', code: string, detail: string): PlatformError {
  return new PlatformError(kind, TITLE, { code, detail, mayHaveHappened: false })
}
