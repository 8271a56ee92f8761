import { createHash } from 'node:crypto'
import { PlatformError } from '../error-kinds.ts'
import type { AuthorizeStart, OAuthSupport, PlatformContext } from '../platform.ts'
import { credentialOf, grantOf, requirePasswords } from './password.ts'
import { addressOf, discover, isLoopback, refusal, requireSecure, TITLE, userHostOf, type Site } from './site.ts'

/**
 * The discovery flow of WordPress (make.wordpress.org, Application Passwords: Integration Guide, 2026-11). The user
 * approves on a page of the site, which sends the browser to `success_url` with `site_url`, `user_login` and
 * `password`. WordPress's protocol requires the password in the query. Nothing logs the query of a callback, and its
 * reply is sent with `Referrer-Policy: no-referrer` and `Cache-Control: no-store`.
 */
export const oauth: OAuthSupport = {
  scopes: [],
  scopePurposes: {},
  pkce: false,
  refreshStyle: 'none',
  dynamicApp: true,
  authorize: async (context, { redirectUri, server, state }) => {
    const site = await discover(context, server ?? siteOfOperator(context))
    const page = pageOf(context, site)
    requireReachable(site, redirectUri)
    const back = (params: Readonly<Record<string, string>>) => {
      const url = new URL(redirectUri)
      for (const [name, value] of Object.entries({ ...params, state })) url.searchParams.set(name, value)
      return url.href
    }
    page.searchParams.set('app_name', nameOf(context))
    page.searchParams.set('app_id', appId(context.publicUrl))
    page.searchParams.set('success_url', back({}))
    page.searchParams.set('reject_url', back({ success: 'false' }))
    return { url: page.href, secrets: { server: site.url, root: site.root } } satisfies AuthorizeStart
  },
  callback: ({ error, password, success }) => {
    if (error === 'disabled') {
      return { error, error_description: 'application passwords are switched off for this user or site' }
    }
    if (error !== undefined) return { error }
    return success === 'false' ? { error: 'access_denied' } : { code: password ?? '' }
  },
  exchange: async (context, { code, params, secrets }) => {
    const { root = '', server = '' } = secrets
    // The site that the user has named, not the one that the callback claims (`site_url`): the password goes there.
    const site: Site = { ...addressOf(context.settings, server), root, index: {} }
    const login = params['user_login'] ?? ''
    if (login === '') throw refusal('user_login', 'The site did not say which user approved.')
    return grantOf(context, credentialOf(site, login, code))
  },
}

/** @throws PlatformError validation when the operator has named no site either */
function siteOfOperator({ settings }: PlatformContext): string {
  if (settings.apiUrl !== '') return settings.apiUrl
  throw refusal('site', 'Enter the address of your site, such as https://example.com.')
}

/** The page on which the user approves. The site chooses its URL, and the browser is sent there. */
function pageOf({ settings }: PlatformContext, site: Site): URL {
  const page = URL.parse(requirePasswords(site), site.url)
  if (page === null) throw refusal('authorization', `${site.url} names no page for approving applications.`)
  requireSecure(page, userHostOf(settings, page.href))
  return page
}

/** WordPress sends passwords only to https addresses, except from sites on the same machine. */
function requireReachable({ url }: Site, redirectUri: string): void {
  if (redirectUri.startsWith('https:') || isLoopback(url)) return
  throw new PlatformError('app_misconfigured', TITLE, {
    code: 'insecure_callback',
    detail:
      'WordPress sends application passwords to https addresses only. Set PUBLIC_URL to one, or connect with a user name and an application password.',
    mayHaveHappened: false,
  })
}

/** The name under which the password is listed at the site. WordPress refuses a name that the user has already. */
function nameOf({ clock, publicUrl }: PlatformContext): string {
  const at = new Date(clock.now()).toISOString().replace('T', ' ').slice(0, 19)
  return `Crier at ${new URL(publicUrl).host}, ${at}`
}

/** A UUID that is the same for all passwords of this server (RFC 9562, version 5, name space of URLs). */
function appId(publicUrl: string): string {
  const namespace = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex')
  const bytes = createHash('sha1').update(namespace).update(publicUrl).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
