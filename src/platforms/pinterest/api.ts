import { PlatformError } from '../error-kinds.ts'
import type { PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'

export const TITLE = 'Pinterest'

/** The body of a reply of the API. @throws PlatformError */
export async function call(
  { credential, http, settings, signal }: AccountContext,
  path: string,
  options: Omit<PlatformRequest, 'url'> = {},
): Promise<unknown> {
  if (credential.accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  const { json } = await http.send({
    ...options,
    url: `${settings.apiUrl}/v5${path}`,
    headers: { Authorization: `Bearer ${credential.accessToken}`, ...options.headers },
    signal,
  })
  return json
}
