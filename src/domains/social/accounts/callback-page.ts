import type { Static, TSchema } from 'typebox'
import { escapeHtml } from '../../../core/html.ts'
import { RawBody, reply } from '../../../core/reply.ts'
import type { FinishedSignIn, SignInOutcome } from './sign-ins.ts'
import { findPlatform } from '../../../platforms/registry.ts'

/** Binds a sign-in to the browser that requested it. */
export const COOKIE = 'crier_sign_in'

const COOKIE_SECONDS = 600
const CONTENT_TYPE = 'text/html; charset=utf-8'

/** The Set-Cookie header (RFC 6265). Lax, because the platform sends the browser back with a link. */
export function cookieOf(value: string, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${COOKIE}=${value}; Path=/api; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${secure}`
}

const TITLES: Readonly<Record<Exclude<SignInOutcome['kind'], 'connected'>, string>> = {
  denied: 'Not connected',
  platform_error: 'Not connected',
  unknown_link: 'This link does not work',
  used_link: 'This link was used already',
  expired_link: 'This link has expired',
  other_browser: 'Wrong browser',
  refused: 'Not connected',
}

/** Redirects the browser, or shows the result. */
export function callbackReply(platform: string, { outcome, returnTo }: FinishedSignIn) {
  const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' }
  if (returnTo !== null) {
    const url = new URL(returnTo)
    const params =
      outcome.kind === 'connected'
        ? {
            account: outcome.account._id,
            status: outcome.account.status,
            ...(outcome.notice !== null && { notice: outcome.notice }),
          }
        : { error: outcome.kind, message: outcome.message }
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
    return reply(302, undefined, { ...headers, Location: url.href })
  }
  const title = findPlatform(platform)?.title ?? platform
  const html =
    outcome.kind === 'connected'
      ? page(`${title} is connected`, connectedText(outcome.account, outcome.notice, platform))
      : page(TITLES[outcome.kind], outcome.message)
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
  const safe = { ...headers, 'Content-Security-Policy': policy }
  return reply(outcome.kind === 'connected' ? 200 : 400, new RawBody(CONTENT_TYPE, html), safe)
}

/** The parameter that marks a browser that was sent on once. */
const SENT_ON = 'sent_on'

/**
 * Sends a browser without the cookie from 127.0.0.1 to localhost, once. Cookies belong to one of the two, and some
 * platforms accept only 127.0.0.1 in a callback.
 */
export function homeOf(publicUrl: string, path: string, query: Readonly<Record<string, string>>) {
  if (new URL(publicUrl).hostname !== 'localhost' || query[SENT_ON] !== undefined) return undefined
  const params = new URLSearchParams({ ...query, [SENT_ON]: '1' })
  return reply(302, undefined, { 'Cache-Control': 'no-store', Location: `${publicUrl}${path}?${params.toString()}` })
}

/** A public document of a platform. */
export function documentReply<S extends TSchema>(document: object) {
  return reply(200, document as Static<S>, { 'Cache-Control': 'public, max-age=60' })
}

function connectedText(
  account: { name: string; handle: string | null; statusMessage: string | null },
  notice: string | null,
  platform: string,
): string {
  const hasChildren = findPlatform(platform)?.children !== undefined
  const name = account.handle === null ? account.name : `${account.name} (@${account.handle})`
  const sentences = [
    `${name} is connected to your workspace.`,
    notice,
    account.statusMessage,
    hasChildren ? 'Now choose which of its pages or organizations to connect.' : null,
    'You can close this page.',
  ]
  return sentences.filter((sentence) => sentence !== null).join(' ')
}

function page(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – Crier</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1rem; }
</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
<p><a href="/">Back to Crier</a></p>
</main>
</body>
</html>
`
}
