import { SECOND } from '../../../core/clock.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import { onlyCookie, type OwnPage } from '../../../core/own-page.ts'
import { reply } from '../../../core/reply.ts'
import { InvalidRefreshToken, SessionCookieRefused } from './errors.ts'
import { REFRESH_LIFETIME_MS, type TokenPair } from './sessions.ts'

/**
 * Refresh tokens in a cookie that scripts cannot read, for pages of this server (`"session": "cookie"`).
 *
 * With HTTPS the cookie is `__Host-crier`. Browsers accept that prefix only with `Secure`, `Path=/` and without
 * `Domain` (RFC 6265bis, 4.1.3.2), so no page of a sub-domain, of another sub-domain or without HTTPS can set it.
 * `__Secure-` with `Path=/api/auth` would be sent with fewer requests, but a sub-domain could set it with `Domain` and
 * so sign a person in to an account of the attacker. A path is no protection in return: scripts of the same origin can
 * request any path. So the wider path costs about 90 bytes per request and nothing else; only `refreshToken` and
 * `logout` read the cookie.
 *
 * Without HTTPS, which browsers trust only at localhost, the prefix is not possible.
 */
const SECURE = { name: '__Host-crier', attributes: 'Path=/; HttpOnly; Secure; SameSite=Strict' }
const LOCAL = { name: 'crier-refresh', attributes: 'Path=/api/auth; HttpOnly; SameSite=Strict' }

/** What a request says of the session that it wants. */
export interface SessionRequest {
  readonly body: { readonly session?: 'cookie' | undefined } | undefined
  readonly ownPage: OwnPage | undefined
}

/**
 * Replies with tokens: all of them in the body, or the refresh token in a cookie.
 * @param issue signs in. It is not called for a request that may have no cookie
 * @throws AppError session_cookie_refused
 */
export async function replyWithTokens<T extends TokenPair>(
  request: SessionRequest,
  issue: () => Promise<T>,
  messageOf: (tokens: T) => string = () => 'Signed in',
) {
  const page = pageOf(request)
  const tokens = await issue()
  const message = messageOf(tokens)
  if (page === undefined) return reply(200, { status: true as const, message, data: tokens })
  const { refreshToken, ...data } = tokens
  const headers = headersOf(page, refreshToken, REFRESH_LIFETIME_MS / SECOND)
  return reply(200, { status: true as const, message, data }, headers)
}

/**
 * The refresh token of a request: in its body, or in the cookie if it asks for that.
 * @throws AppError session_cookie_refused, validation_failed, invalid_refresh_token
 */
export function refreshTokenOf(
  request: SessionRequest & { readonly body: { readonly refreshToken?: string | undefined } },
): string {
  const { body } = request
  if ((body.session === undefined) === (body.refreshToken === undefined)) {
    const errors = [{ path: '/body', code: 'either', message: 'must have either `refreshToken` or `session`' }]
    throw ValidationFailed({ message: 'Send either `refreshToken` or `"session": "cookie"`.', errors })
  }
  const token = body.refreshToken ?? cookieOf(request)
  if (token === undefined) throw InvalidRefreshToken({ message: 'The browser sent no session cookie. Log in again.' })
  return token
}

/** The refresh token in the cookie, if the request asks for it and has one. @throws AppError session_cookie_refused */
export function cookieOf(request: SessionRequest): string | undefined {
  const page = pageOf(request)
  return page && onlyCookie(page, kindOf(page).name)
}

/** The headers that delete the cookie, if the request asks for that. */
export function endOfCookie(request: SessionRequest): Readonly<Record<string, string>> {
  const page = pageOf(request)
  return page === undefined ? {} : headersOf(page, '', 0)
}

/** The page of a request that wants a cookie; undefined if it wants none. */
function pageOf({ body, ownPage }: SessionRequest): OwnPage | undefined {
  if (body?.session === undefined) return undefined
  if (ownPage === undefined) throw SessionCookieRefused()
  return ownPage
}

const kindOf = ({ isSecure }: OwnPage) => (isSecure ? SECURE : LOCAL)

function headersOf(page: OwnPage, value: string, seconds: number): Readonly<Record<string, string>> {
  const { attributes, name } = kindOf(page)
  return { 'Set-Cookie': `${name}=${value}; ${attributes}; Max-Age=${seconds}`, 'Cache-Control': 'no-store' }
}
