import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply, PlatformRequest } from '../http/platform-http.ts'
import type { Credential, PlatformContext } from '../platform.ts'
import { rootWithoutLink, routeUrl, TITLE, userHostOf } from './site.ts'

/** The fields of a credential. `server` is the site, and `accessToken` the application password. */
export interface SiteCredential extends Credential {
  /** The root of the REST API. Absent for accounts of the sandbox. */
  readonly root?: string
  readonly login: string
}

export type SiteContext = PlatformContext & { readonly credential: Credential }

type CallOptions = Omit<PlatformRequest, 'url' | 'signal'>

/**
 * Calls a route of the REST API as the user.
 * @param route such as `/wp/v2/posts`
 * @throws PlatformError
 */
export function send(
  { credential, http, settings, signal }: SiteContext,
  route: string,
  options: CallOptions = {},
): Promise<PlatformReply> {
  const { accessToken: password, login, root, server = '' } = credential as Partial<SiteCredential>
  if (password === undefined || login === undefined) throw new PlatformError('auth_expired', TITLE)
  const url = routeUrl(root ?? rootWithoutLink(server), route)
  const basic = Buffer.from(`${login}:${password}`).toString('base64')
  return http.send({
    ...options,
    url,
    headers: { Authorization: `Basic ${basic}`, ...options.headers },
    secrets: [password, basic],
    userHost: userHostOf(settings, url),
    signal,
  })
}

/** The same for replies of a known shape. @throws PlatformError; `unknown` when the reply is not JSON */
export async function call<T>(context: SiteContext, route: string, options?: CallOptions): Promise<T> {
  const { json } = await send(context, route, options)
  if (typeof json === 'object' && json !== null) return json as T
  throw new PlatformError('unknown', TITLE, {
    code: 'not_json',
    detail: 'The reply of the site is not JSON. A plugin or the host may answer in place of WordPress.',
  })
}
