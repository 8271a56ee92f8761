import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply } from '../http/platform-http.ts'
import type { PlatformContext, PlatformSettings } from '../platform.ts'

export const TITLE = 'WordPress'

/** A site, or an address below it. */
export interface Address {
  /** Without a trailing slash. */
  readonly url: string
  /** Whether a user named it. Only public addresses are allowed then. */
  readonly userHost: boolean
}

/** What the REST API of a site says about it (developer.wordpress.org/rest-api, Global parameters and index, 2026-11). */
export interface SiteIndex {
  readonly name?: string
  readonly description?: string
  readonly home?: string
  readonly namespaces?: readonly string[]
  /** An empty array where application passwords are not available. */
  readonly authentication?: {
    readonly 'application-passwords'?: { readonly endpoints?: { readonly authorization?: string } }
  }
}

/** A site with its REST API. */
export interface Site extends Address {
  /** The root of the REST API, which ends with a slash. Without pretty permalinks the slash is in `rest_route`. */
  readonly root: string
  readonly index: SiteIndex
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
/** Pages of a site from which people copy its address. */
const PAGES = /\/(?:wp-admin|wp-login\.php|wp-json|index\.php|xmlrpc\.php)(?:\/.*)?$/
const MAX_REDIRECTS = 5
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
/** The index without its routes, which are large. */
const INDEX_FIELDS = 'name,description,home,namespaces,authentication'

/**
 * The address of a site as a user enters it: `example.com`, `https://example.com/blog`, or a page of its administration.
 * @throws PlatformError validation when it is not an address, or would send the password unencrypted
 */
export function addressOf(settings: Pick<PlatformSettings, 'apiUrl' | 'authUrl'>, text: string): Address {
  const given = text.trim()
  const url = URL.parse(/^https?:\/\//i.test(given) ? given : `https://${given}`)
  const isHost = url !== null && (url.hostname.includes('.') || url.port !== '' || LOOPBACK.test(url.hostname))
  if (url === null || !isHost || given === '' || url.username !== '' || url.password !== '') {
    throw refusal('site', `“${given.slice(0, 100)}” is not a site. Enter one such as https://example.com.`)
  }
  const userHost = !isConfigured(settings, url)
  requireSecure(url, userHost)
  const path = url.pathname.replace(PAGES, '').replace(/\/+$/, '')
  return { url: `${url.origin}${path}`, userHost }
}

/** Whether the operator has named this origin. */
export function isConfigured({ apiUrl, authUrl }: Pick<PlatformSettings, 'apiUrl' | 'authUrl'>, url: URL): boolean {
  return [apiUrl, authUrl].some((base) => URL.parse(base)?.origin === url.origin)
}

/** @throws PlatformError validation */
export function requireSecure(url: URL, userHost: boolean): void {
  // Application passwords are sent with every call. WordPress too accepts them unencrypted on local machines only.
  if (url.protocol === 'https:' || (url.protocol === 'http:' && (LOOPBACK.test(url.hostname) || !userHost))) return
  throw refusal('insecure', `WordPress accepts application passwords over https only. Enter https://${url.host}.`)
}

/** Whether an address is on this machine. */
export function isLoopback(url: string): boolean {
  return LOOPBACK.test(URL.parse(url)?.hostname ?? '')
}

/**
 * Finds the REST API of a site, by the Link header of its front page, or by the address that every WordPress has
 * (developer.wordpress.org/rest-api/using-the-rest-api/discovery, 2026-11).
 * @throws PlatformError validation when the site is not a WordPress, or does not offer application passwords
 */
export async function discover(context: PlatformContext, text: string): Promise<Site> {
  const { settings } = context
  const { address, reply } = await frontPage(context, addressOf(settings, text))
  const linked = linkOf(reply, address.url)
  if (linked !== undefined) requireSecure(linked, !isConfigured(settings, linked))
  const root = linked?.href ?? rootWithoutLink(address.url)
  const index = await indexOf(context, root)
  if (index?.namespaces?.includes('wp/v2') !== true) {
    throw refusal('no_rest_api', `${address.url} is not a WordPress site, or its REST API is switched off.`)
  }
  return { ...address, root, index }
}

/** The root of the REST API of a site whose front page does not name it. It needs no pretty permalinks. */
export function rootWithoutLink(site: string): string {
  return `${site}/index.php?rest_route=/`
}

/** The address of a route. @param route begins with a slash */
export function routeUrl(root: string, route: string): string {
  // In the form without permalinks the root ends with `rest_route=/`.
  return `${root.replace(/\/$/, '')}${route}`
}

/** What a site says about itself. Undefined when the reply is not that of a REST API. */
async function indexOf({ http, settings, signal }: PlatformContext, root: string): Promise<SiteIndex | undefined> {
  const { json, status } = await http.send({
    url: root,
    query: { _fields: INDEX_FIELDS },
    userHost: userHostOf(settings, root),
    // Sites that hide the API answer in several ways.
    expect: [400, 401, 403, 404, 405],
    signal,
  })
  return status === 200 && typeof json === 'object' && json !== null ? json : undefined
}

/** Whether only public addresses are allowed for a URL. */
export function userHostOf(settings: Pick<PlatformSettings, 'apiUrl' | 'authUrl'>, url: string): boolean {
  const parsed = URL.parse(url)
  return parsed === null || !isConfigured(settings, parsed)
}

/** The headers of the front page, after its redirects (www, https, another language). */
async function frontPage(
  context: PlatformContext,
  start: Address,
): Promise<{ address: Address; reply: PlatformReply }> {
  const { http, settings, signal } = context
  let address = start
  for (let count = 0; count <= MAX_REDIRECTS; count += 1) {
    const reply = await http.send({
      method: 'HEAD',
      url: `${address.url}/`,
      headers: { Accept: 'text/html' },
      userHost: address.userHost,
      // A page may be closed for visitors while the API is open.
      expect: [401, 403, 404, 405, 503],
      signal,
    })
    const { location } = reply.headers
    if (!REDIRECTS.includes(reply.status) || location === undefined) return { address, reply }
    const next = URL.parse(location, `${address.url}/`)
    if (next === null) return { address, reply }
    // A page for sign-in or a language is no other site.
    if (linkOf(reply, address.url) !== undefined && next.origin === new URL(address.url).origin)
      return { address, reply }
    address = addressOf(settings, `${next.origin}${next.pathname}`)
  }
  throw refusal('redirects', `${start.url} redirects too often.`)
}

/** The root in a Link header with the relation `https://api.w.org/` (RFC 8288). */
function linkOf({ headers }: PlatformReply, base: string): URL | undefined {
  const header = [headers.link ?? []].flat().join(', ')
  const [, target] = /<([^<>]*)>\s*;[^,<]*\brel="?https:\/\/api\.w\.org\/"?/i.exec(header) ?? []
  return target === undefined ? undefined : (URL.parse(target, `${base}/`) ?? undefined)
}

/** An error of what the user entered. */
export function refusal(code: string, detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { code, detail, mayHaveHappened: false })
}
