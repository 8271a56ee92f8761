import { CrierError, send, type ClientOptions } from '../sdk/client.ts'
import { systemClock } from '../core/clock.ts'
import type { Parsed } from './arguments.ts'
import {
  DEFAULT_SERVER,
  readDeviceToken,
  readLogin,
  saveDeviceToken,
  saveLogin,
  type Environment,
  type SavedLogin,
} from './settings.ts'

interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** Seconds. */
  readonly expiresIn: number
}

/** A token is renewed this long before it ends. */
const MARGIN_MS = 30_000

/** Which server, and with which credential: what was typed goes before the environment, and that before what was saved. */
export function accessOf(
  typed: Pick<Parsed, 'server' | 'apiKey' | 'accessToken'>,
  environment: Environment,
): ClientOptions {
  const server = typed.server ?? environment.server
  const saved = readLogin(environment.file)
  // A saved credential goes to the server that gave it, to no other.
  const login = saved && (server === undefined || sameServer(server, saved.server)) ? saved : undefined
  const url = server ?? login?.server ?? DEFAULT_SERVER
  if (typed.accessToken !== undefined) return { url, token: typed.accessToken }
  if (typed.apiKey !== undefined) return { url, apiKey: typed.apiKey }
  if (environment.token !== undefined) return { url, token: environment.token }
  if (environment.apiKey !== undefined) return { url, apiKey: environment.apiKey }
  if (login?.apiKey !== undefined) return { url, apiKey: login.apiKey }
  if (login?.accessToken !== undefined) return { url, token: () => freshToken(login, environment.file) }
  return { url }
}

/**
 * Logs in with e-mail and password, as a device that the server knows again: whoever guesses at the address from
 * elsewhere cannot lock its owner out.
 * @param deviceFile where the tokens of devices are kept
 * @throws CrierError, ConnectionError
 */
export async function logIn(
  server: string,
  { deviceFile, email, password }: { readonly deviceFile: string; readonly email: string; readonly password: string },
): Promise<SavedLogin> {
  const known = readDeviceToken(deviceFile, server, email)
  const body = { email, password, ...(known !== undefined && { deviceToken: known }) }
  const { data } = (await send({ url: server }, 'POST /api/auth/login', { body })).body as {
    data: Tokens & { readonly deviceToken?: string }
  }
  if (data.deviceToken !== undefined) saveDeviceToken(deviceFile, server, email, data.deviceToken)
  return loginOf(server, data)
}

/** Ends the saved session on its server too. */
export async function logOut(login: SavedLogin): Promise<void> {
  if (login.accessToken === undefined) return
  try {
    const token = await renewed(login)
    await send({ url: login.server, token: token.accessToken ?? '' }, 'POST /api/auth/logout', { body: {} })
  } catch (error) {
    // Ended already.
    if (!(error instanceof CrierError && error.status === 401)) throw error
  }
}

async function freshToken(login: SavedLogin, file: string): Promise<string> {
  if (!isOld(login)) return login.accessToken ?? ''
  // Another command may have renewed it in the meantime.
  const present = readLogin(file) ?? login
  const next = isOld(present) ? await renewed(present) : present
  if (next !== present) saveLogin(file, next)
  return next.accessToken ?? ''
}

function isOld(login: SavedLogin): boolean {
  return (login.expiresAt ?? 0) - MARGIN_MS < systemClock.now()
}

async function renewed(login: SavedLogin): Promise<SavedLogin> {
  const reply = await send({ url: login.server }, 'POST /api/auth/refresh', {
    body: { refreshToken: login.refreshToken },
  })
  return loginOf(login.server, (reply.body as { data: Tokens }).data)
}

function loginOf(server: string, { accessToken, refreshToken, expiresIn }: Tokens): SavedLogin {
  return { server, accessToken, refreshToken, expiresAt: systemClock.now() + expiresIn * 1000 }
}

function sameServer(a: string, b: string): boolean {
  try {
    return new URL(a).origin === new URL(b).origin
  } catch {
    return false
  }
}
