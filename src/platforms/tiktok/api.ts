import { PlatformError } from '../error-kinds.ts'
import type { PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'

export const TITLE = 'TikTok'

/** The `data` of a reply of the API. @throws PlatformError */
export async function call(
  { credential, http, settings, signal }: AccountContext,
  path: string,
  options: Omit<PlatformRequest, 'url'> = {},
): Promise<{ readonly data: unknown; readonly text: string }> {
  if (credential.accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  const { bytes, json } = await http.send({
    method: 'POST',
    ...options,
    url: `${settings.apiUrl}${path}`,
    headers: { Authorization: `Bearer ${credential.accessToken}`, ...options.headers },
    signal,
  })
  const { data = {} } = (json ?? {}) as { readonly data?: unknown }
  return { data, text: bytes.toString('utf8') }
}
