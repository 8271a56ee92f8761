import type { NodeSavedSession } from '@atproto/oauth-client-node'
import { PlatformError } from '../error-kinds.ts'
import type { StreamBody } from '../../fetch/outgoing.ts'
import type { PlatformReply } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'
import { clientOf, oauthLibrary } from './oauth-client.ts'
import { guardedFetch } from './oauth-fetch.ts'
import { errorOf } from './replies.ts'
import { TITLE } from './servers.ts'

/** The stored session; undefined for an account with an app password. */
export function sessionOf({ credential }: AccountContext): NodeSavedSession | undefined {
  const text = credential['session']
  return typeof text === 'string' ? (JSON.parse(text) as NodeSavedSession) : undefined
}

/** A request with the DPoP-bound token of a session. */
export interface BoundRequest {
  readonly method: 'GET' | 'POST'
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly body?: (() => Promise<StreamBody>) | undefined
  readonly timeoutMs?: number | undefined
}

/** @throws PlatformError when there was no reply */
export function sendBound(
  context: AccountContext,
  session: NodeSavedSession,
  { body, headers, json, method, path, timeoutMs }: BoundRequest,
): Promise<PlatformReply> {
  return asPlatformError(async () => {
    const guarded = guardedFetch(context, { body, timeoutMs, secrets: [session.tokenSet.access_token] })
    // Without its refresh token and expiry, so that only the keeper of the tokens refreshes the session.
    const { expires_at: _end, refresh_token: _token, ...tokenSet } = session.tokenSet
    const client = await clientOf(context, guarded, { session: { value: { ...session, tokenSet } } })
    const bound = await client.restore(session.tokenSet.sub, false)
    const type = json === undefined ? {} : { 'Content-Type': 'application/json' }
    await bound.fetchHandler(path, {
      method,
      headers: { ...type, ...headers },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const { reply } = guarded.last
    if (reply === undefined) throw new PlatformError('unknown', TITLE, { detail: 'there was no reply' })
    return reply
  })
}

/** Runs the library. @throws PlatformError */
export async function asPlatformError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw platformErrorOf(error, await oauthLibrary())
  }
}

/** The key of the session is gone. The library does not export this class. */
const UNSATISFIABLE = 'AuthMethodUnsatisfiableError'

/** Errors of the library wrap the cause: an error of ours when the server did not answer. */
function platformErrorOf(error: unknown, library: Awaited<ReturnType<typeof oauthLibrary>>): unknown {
  const chain: Error[] = []
  for (let one = error; one instanceof Error && chain.length < 10; one = one.cause) chain.push(one)
  const ours = chain.find((one) => one instanceof PlatformError)
  if (ours !== undefined) return ours
  const refused = chain.find((one) => one instanceof library.OAuthResponseError)
  const detail = chain.map(({ message }) => message).join(': ')
  if (refused !== undefined) {
    const known = errorOf({ status: refused.status, headers: {}, json: refused.payload })
    const { kind, ...options } = known ?? { kind: 'unknown' as const, detail }
    return new PlatformError(kind, TITLE, {
      ...options,
      httpStatus: refused.status,
      mayHaveHappened: false,
      cause: error,
    })
  }
  const ended = [library.TokenRefreshError, library.TokenRevokedError, library.TokenInvalidError]
  if (chain.some((one) => ended.some((type) => one instanceof type) || one.constructor.name === UNSATISFIABLE)) {
    return new PlatformError('auth_expired', TITLE, { detail, cause: error })
  }
  const [first] = chain
  if (first?.name === 'OAuthResolverError') {
    return new PlatformError('unsupported', TITLE, {
      code: 'no_sign_in',
      detail: `${detail}. An app password may work`,
      mayHaveHappened: false,
      cause: error,
    })
  }
  return first === undefined ? error : new PlatformError('unknown', TITLE, { detail, cause: error })
}
