import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** The user's settings: the environment and the saved login. No other module of the CLI reads them. */

export interface SavedLogin {
  readonly server: string
  readonly apiKey?: string
  readonly accessToken?: string
  readonly refreshToken?: string
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt?: number
}

export interface Environment {
  readonly server: string | undefined
  readonly apiKey: string | undefined
  readonly token: string | undefined
  /** The file of the saved login. */
  readonly file: string
  /** The file of the tokens by which servers recognize this device. They are kept after logout. */
  readonly deviceFile: string
}

export const DEFAULT_SERVER = 'http://localhost:3000'

export function readEnvironment(variables: Readonly<Record<string, string | undefined>> = process.env): Environment {
  const filled = (name: string) => variables[name]?.trim() || undefined
  const folder = join(filled('XDG_CONFIG_HOME') ?? join(homedir(), '.config'), 'crier')
  return {
    server: filled('CRIER_URL'),
    apiKey: filled('CRIER_API_KEY'),
    token: filled('CRIER_TOKEN'),
    file: join(folder, 'login.json'),
    deviceFile: join(folder, 'devices.json'),
  }
}

/**
 * The saved login; undefined if there is none.
 * @throws Error when the file cannot be read
 */
export function readLogin(file: string): SavedLogin | undefined {
  return readJson(file) as SavedLogin | undefined
}

/** Saves a login in a file that only this user can read. */
export function saveLogin(file: string, login: SavedLogin): void {
  saveJson(file, login)
}

export function forgetLogin(file: string): void {
  rmSync(file, { force: true })
}

/**
 * The token that a server gave this device at sign-in.
 * @throws Error when the file cannot be read
 */
export function readDeviceToken(file: string, server: string, email: string): string | undefined {
  return devicesOf(file).find((one) => isOf(one, server, email))?.token
}

/** Saves the token of a device, and keeps the newest of the others. */
export function saveDeviceToken(file: string, server: string, email: string, token: string): void {
  const others = devicesOf(file).filter((one) => !isOf(one, server, email))
  const origin = new URL(server).origin
  saveJson(file, [{ server: origin, email: email.toLowerCase(), token }, ...others].slice(0, MAX_DEVICES))
}

interface KnownAs {
  readonly server: string
  readonly email: string
  readonly token: string
}

const MAX_DEVICES = 100

function devicesOf(file: string): KnownAs[] {
  const found = readJson(file)
  return Array.isArray(found) ? (found as KnownAs[]) : []
}

/** A token is only sent to the server that issued it. */
function isOf(known: KnownAs, server: string, email: string): boolean {
  return known.server === new URL(server).origin && known.email === email.toLowerCase()
}

function readJson(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function saveJson(file: string, content: unknown): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // Written beside the old file and then renamed, so that a concurrent command reads a complete file.
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  chmodSync(fresh, 0o600)
  renameSync(fresh, file)
}
