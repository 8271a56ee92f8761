import { PlatformError } from '../error-kinds.ts'
import type { PlatformRequest } from '../http/platform-http.ts'
import type { Credential, PlatformContext } from '../platform.ts'

export const TITLE = 'Discord'

/** Discord refuses other forms of the User-Agent (docs.discord.com/developers/reference, 2026-11). */
const USER_AGENT = 'DiscordBot (Crier, 0.1)'

/** A webhook, as its address names it. */
export interface Webhook {
  readonly id: string
  readonly token: string
}

/** The webhook of a credential; undefined for a bot. */
export function webhookOf({ accessToken: token, webhook: id }: Credential): Webhook | undefined {
  return typeof id === 'string' && token !== undefined ? { id, token } : undefined
}

/** Calls the API as a bot, or as a webhook, whose token is in the path. @throws PlatformError */
export async function call<T>(
  { credential, http, settings, signal }: PlatformContext & { readonly credential: Credential },
  path: string,
  options: Omit<PlatformRequest, 'url' | 'signal'> = {},
): Promise<T> {
  const { accessToken } = credential
  if (accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  const { json } = await http.send({
    ...options,
    url: `${settings.apiUrl}${path}`,
    headers: {
      'User-Agent': USER_AGENT,
      ...(webhookOf(credential) === undefined && { Authorization: `Bot ${accessToken}` }),
      ...options.headers,
    },
    secrets: [accessToken],
    signal,
  })
  return json as T
}
