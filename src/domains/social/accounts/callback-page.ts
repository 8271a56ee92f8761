import type { Static, TSchema } from 'typebox'
import { escapeHtml } from '../../../tools/html.ts'
import { htmlPage } from '../../../core/html-page.ts'
import { reply } from '../../../core/reply.ts'
import type { FinishedSignIn, SignInOutcome } from './sign-ins.ts'
import { findPlatform } from '../../../platforms/registry.ts'

/** Binds a sign-in to the browser that requested it. */
export const COOKIE = 'crier_sign_in'

const COOKIE_SECONDS = 600

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
  if (returnTo !== null) {
    const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' }
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
  const [heading, text] =
    outcome.kind === 'connected'
      ? [
          `${findPlatform(platform)?.title ?? platform} is connected`,
          connectedText(outcome.account, outcome.notice, platform),
        ]
      : [TITLES[outcome.kind], outcome.message]
  return htmlPage(outcome.kind === 'connected' ? 200 : 400, {
    title: heading,
    tabTitle: `${heading} – Crier`,
    body: `<p>${escapeHtml(text)}</p>\n<p><a href="/">Back to Crier</a></p>`,
  })
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
