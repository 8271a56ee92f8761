import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import { SANDBOX_APP, type OAuthState, type TokenHolder } from '../oauth-server.ts'

/** How often the app has called in the current hour. */
export interface UsageState {
  since: number
  calls: number
}

interface ErrorFields {
  readonly subcode?: number
  readonly type?: string
  readonly title?: string
  readonly user?: string
  readonly transient?: boolean
  readonly status?: number
}

/** Calls of the app in an hour, for the sandbox; the real limit depends on the number of users. */
const CALLS_PER_HOUR = 4_800
const HOUR_MS = 3_600_000

/** An error in the form of the Graph API (developers.facebook.com, Handle errors, 2026-11). */
export function graphError(code: number, message: string, fields: ErrorFields = {}): FakeReply {
  const { status = 400, subcode, title, transient = false, type = 'OAuthException', user } = fields
  return json(status, {
    error: {
      message,
      type,
      code,
      ...(subcode !== undefined && { error_subcode: subcode }),
      is_transient: transient,
      ...(title !== undefined && { error_user_title: title }),
      ...(user !== undefined && { error_user_msg: user }),
      fbtrace_id: randomBytes(8).toString('base64url'),
    },
  })
}

/** The error of a token that has ended or never existed. */
export function invalidToken(isKnown: boolean): FakeReply {
  return isKnown
    ? graphError(190, 'Error validating access token: Session has expired.', { subcode: 463, status: 401 })
    : graphError(190, 'Invalid OAuth access token - Cannot parse access token', { status: 401 })
}

/** The errors of the token endpoint, for `FakeOAuthOptions.errorBody`. */
export function tokenErrorBody(error: string, description: string): unknown {
  const reply =
    error === 'invalid_client'
      ? graphError(1, 'Error validating client secret.')
      : graphError(100, `Error validating verification code. ${description}`, { subcode: 36_009 })
  return reply.body
}

/** A token response as Meta sends it: without scopes. Errors have status 400. */
export function tokenReply({ body, status }: FakeReply, extra: object = {}): FakeReply {
  if (status !== 200) return json(400, body)
  const { scope: _scope, ...token } = body as Readonly<Record<string, unknown>>
  return json(200, { ...token, ...extra })
}

/** The path below the version; undefined without one. */
export function versionedPath(path: string): readonly string[] | undefined {
  const [, rest] = /^\/v\d+\.\d+\/(.+)$/.exec(path) ?? []
  return rest?.split('/').filter(Boolean)
}

/** The parameters of a call: Graph reads the URL and the body alike. */
export function paramsOf({ body, query }: FakeRequest): Readonly<Record<string, string>> {
  const texts = Object.entries(body).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return { ...Object.fromEntries(query), ...(Object.fromEntries(texts) as Record<string, string>) }
}

/** The fields that a call asks for, and the id. */
export function pick(object: Readonly<Record<string, unknown>>, fields: string | undefined): Record<string, unknown> {
  const names = new Set(['id'])
  let depth = 0
  let name = ''
  for (const letter of `${fields ?? ''},`) {
    if (letter === '{' || letter === '(') depth += 1
    if (depth === 0 && letter === ',') {
      names.add(name.split('.')[0] ?? '')
      name = ''
    } else if (depth === 0) name += letter
    if (letter === '}' || letter === ')') depth -= 1
  }
  return Object.fromEntries(Object.entries(object).filter(([key, value]) => names.has(key) && value !== undefined))
}

/** A page of a list (cursors are positions). */
export function listPage(
  items: readonly Readonly<Record<string, unknown>>[],
  params: Readonly<Record<string, string>>,
): FakeReply {
  const limit = Number(params['limit'] ?? 25)
  const start = params['after'] === undefined ? 0 : Number(params['after']) + 1
  const shown = items.slice(start, start + limit)
  const last = start + shown.length - 1
  const cursors = { before: String(start), after: String(last) }
  const hasMore = last + 1 < items.length
  return json(200, {
    data: shown.map((item) => pick(item, params['fields'])),
    ...(shown.length > 0 && { paging: { cursors, ...(hasMore && { next: `https://sandbox/?after=${last}` }) } }),
  })
}

/** Issues a token with the given lifetime. @param seconds null for a token that does not expire */
export function issueToken(
  state: OAuthState,
  { account, app, scopes }: TokenHolder,
  now: number,
  seconds: number | null,
) {
  const token = `EAA${randomBytes(40).toString('base64url')}`
  state.tokens[token] = { app, account, scopes, expiresAt: seconds === null ? null : now + seconds * 1_000 }
  return token
}

/** Counts a call. The app is refused when it has called too often. @returns the error, or the header of the reply */
export function countCall(usage: UsageState, clock: Clock): { refused?: FakeReply; headers: Record<string, string> } {
  if (clock.now() - usage.since >= HOUR_MS) Object.assign(usage, { since: clock.now(), calls: 0 })
  usage.calls += 1
  const percent = Math.floor((usage.calls * 100) / CALLS_PER_HOUR)
  const headers = { 'X-App-Usage': JSON.stringify({ call_count: percent, total_time: 0, total_cputime: 0 }) }
  if (usage.calls <= CALLS_PER_HOUR) return { headers }
  const refused = graphError(4, 'Application request limit reached', { status: 403, transient: true })
  return { headers, refused: { ...refused, headers } }
}

/** The error of a call whose `appsecret_proof` is missing or wrong: the app of the sandbox requires it. */
export function proofError(token: string, proof: string | undefined): FakeReply | undefined {
  const expected = createHmac('sha256', SANDBOX_APP.clientSecret).update(token).digest('hex')
  if (proof === expected) return undefined
  const message =
    proof === undefined
      ? 'API calls from the server require an appsecret_proof argument'
      : 'Invalid appsecret_proof provided in the API argument'
  return graphError(100, message, { type: 'GraphMethodException' })
}

/** The Bearer token of a request. */
export function bearerOf({ headers }: Pick<FakeRequest, 'headers'>): string {
  return /^(?:Bearer|OAuth) (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}
