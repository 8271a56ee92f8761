import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply, PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext, PlatformContext } from '../platform.ts'

export const TITLE = 'X'

/** Calls the API for an account. @throws PlatformError */
export async function call<T>(
  { credential, http, settings, signal }: PlatformContext & Pick<AccountContext, 'credential'>,
  path: string,
  options: Omit<PlatformRequest, 'url' | 'signal'> = {},
): Promise<T> {
  if (credential.accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  const reply: PlatformReply = await http.send({
    ...options,
    url: `${settings.apiUrl}${path}`,
    headers: { Authorization: `Bearer ${credential.accessToken}`, ...options.headers },
    signal,
  })
  return reply.json as T
}
