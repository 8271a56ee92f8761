import { Type } from 'typebox'
import { PlatformError } from '../error-kinds.ts'
import type { AccountContext, Credential, Grant, PlatformContext } from '../platform.ts'
import { identityOf } from './identity.ts'
import { profileOf } from './profile.ts'
import { serverOf, TITLE, type Server } from './servers.ts'

export const Fields = Type.Object({
  handle: Type.String({
    description: 'The handle of the account, such as anna.bsky.social, or its DID.',
    minLength: 3,
    maxLength: 300,
  }),
  appPassword: Type.String({
    description:
      'An app password, from Settings, Privacy and security, App passwords. Not the password of the account.',
    minLength: 8,
    maxLength: 200,
    writeOnly: true,
  }),
  server: Type.Optional(
    Type.String({ description: 'The server of the account. Found by the handle if absent.', maxLength: 300 }),
  ),
})

interface Session {
  readonly accessJwt: string
  readonly refreshJwt: string
  readonly did: string
}

/** Signs in with an app password. @throws PlatformError */
export async function connect(
  context: PlatformContext,
  { appPassword, handle, server }: { handle: string; appPassword: string; server?: string },
): Promise<Grant> {
  const identity = server === undefined ? await identityOf(context, handle) : undefined
  const pds = identity?.pds ?? serverOf(context.settings, server ?? '')
  const identifier = identity?.did ?? handle.trim().replace(/^@/, '')
  const credential = await login(context, pds, identifier, appPassword)
  const profile = await profileOf({ ...context, credential, remoteId: '' })
  return { profile, credential, scopes: null }
}

/**
 * New tokens of an app password. A refresh token that has ended is no reason to ask the user: the app password still
 * works until the user revokes it.
 * @throws PlatformError auth_expired when it was revoked
 */
export async function refreshSession(context: AccountContext): Promise<Credential> {
  const { credential, http, settings, signal } = context
  const { appPassword, did, refreshToken = '', server = '' } = credential
  const pds = serverOf(settings, server)
  try {
    const { json } = await http.send({
      method: 'POST',
      url: `${pds.url}/xrpc/com.atproto.server.refreshSession`,
      headers: { Authorization: `Bearer ${refreshToken}` },
      secrets: [refreshToken],
      userHost: pds.userHost,
      signal,
    })
    return tokensOf(json as Session)
  } catch (error) {
    const isEnded = error instanceof PlatformError && error.kind === 'auth_expired'
    if (!isEnded || typeof appPassword !== 'string' || typeof did !== 'string') throw error
    return login(context, pds, did, appPassword)
  }
}

/** Ends the session. The user revokes the app password itself. @throws PlatformError */
export async function deleteSession({ credential, http, settings, signal }: AccountContext): Promise<void> {
  const { refreshToken = '', server = '' } = credential
  const pds = serverOf(settings, server)
  await http.send({
    method: 'POST',
    url: `${pds.url}/xrpc/com.atproto.server.deleteSession`,
    headers: { Authorization: `Bearer ${refreshToken}` },
    secrets: [refreshToken],
    userHost: pds.userHost,
    // The session has ended already.
    expect: [400, 401],
    signal,
  })
}

async function login(
  { http, signal }: PlatformContext,
  { url, userHost }: Server,
  identifier: string,
  password: string,
): Promise<Credential> {
  const { json, status } = await http.send({
    method: 'POST',
    url: `${url}/xrpc/com.atproto.server.createSession`,
    json: { identifier, password },
    secrets: [password],
    expect: [401],
    userHost,
    signal,
  })
  if (status === 401) throw refused(json)
  const session = json as Session
  return { ...tokensOf(session), did: session.did, server: url, appPassword: password }
}

function refused(json: unknown): PlatformError {
  const { error, message } = (json ?? {}) as { readonly error?: string; readonly message?: string }
  const detail =
    error === 'AuthFactorTokenRequired'
      ? 'this is the password of the account, which needs a second factor; create an app password'
      : message
  return new PlatformError('auth_expired', TITLE, { code: error, detail, httpStatus: 401 })
}

function tokensOf({ accessJwt, refreshJwt }: Session): Credential {
  const expiresAt = expiryOf(accessJwt)
  return { accessToken: accessJwt, refreshToken: refreshJwt, ...(expiresAt !== undefined && { expiresAt }) }
}

/** The end of a JWT (RFC 7519), in milliseconds since the epoch. */
function expiryOf(jwt: string): number | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1_000 : undefined
  } catch {
    return undefined
  }
}
