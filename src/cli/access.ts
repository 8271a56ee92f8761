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
  /** In seconds. */
  readonly expiresIn: number
}

/** How long before its expiry a token is renewed. */
const MARGIN_MS = 30_000

/**
 * The server and the credential. Options take precedence over the environment, which takes precedence over the saved
 * login.
 */
export function accessOf(
  typed: Pick<Parsed, 'server' | 'apiKey' | 'accessToken'>,
  environment: Environment,
): ClientOptions {
  const server = typed.server ?? environment.server
  const saved = readLogin(environment.file)
  // A saved credential is only sent to the server that issued it.
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
 * Logs in with email and password, and with a code if the account has a second factor. The device token identifies this device to the server, so that failed logins from
 * elsewhere cannot lock the owner out.
 * @param deviceFile the file with the tokens of devices
 * @throws CrierError, ConnectionError
 */
export async function logIn(
  server: string,
  {
    askForCode,
    deviceFile,
    email,
    password,
  }: {
    /** Asks for a code of the authenticator app, if the account has one. */
    readonly askForCode: () => Promise<string>
    readonly deviceFile: string
    readonly email: string
    readonly password: string
  },
): Promise<SavedLogin> {
  const known = readDeviceToken(deviceFile, server, email)
  const device = known === undefined ? {} : { deviceToken: known }
  const reply = await send({ url: server }, 'POST /api/auth/login', { body: { email, password, ...device } }).catch(
    async (error: unknown) => {
      if (!(error instanceof CrierError) || error.code !== 'second_factor_required') throw error
      const body = { challenge: String(error.details['challenge']), code: await askForCode(), ...device }
      return send({ url: server }, 'POST /api/auth/second-factor', { body })
    },
  )
  const { data } = reply.body as { data: Tokens & { readonly deviceToken?: string } }
  if (data.deviceToken !== undefined) saveDeviceToken(deviceFile, server, email, data.deviceToken)
  return loginOf(server, data)
}

/** Also ends the saved session on its server. */
export async function logOut(login: SavedLogin): Promise<void> {
  if (login.accessToken === undefined) return
  try {
    const token = await renewed(login)
    await send({ url: login.server, token: token.accessToken ?? '' }, 'POST /api/auth/logout', { body: {} })
  } catch (error) {
    // The session has already ended.
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
