import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** What the command line knows of its user: the environment and the saved login. Nothing else in it reads either. */

export interface SavedLogin {
  readonly server: string
  readonly apiKey?: string
  readonly accessToken?: string
  readonly refreshToken?: string
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
}

export interface Environment {
  readonly server: string | undefined
  readonly apiKey: string | undefined
  readonly token: string | undefined
  /** Where the login is saved. */
  readonly file: string
}

export const DEFAULT_SERVER = 'http://localhost:3000'

export function readEnvironment(variables: Readonly<Record<string, string | undefined>> = process.env): Environment {
  const filled = (name: string) => variables[name]?.trim() || undefined
  const folder = filled('XDG_CONFIG_HOME') ?? join(homedir(), '.config')
  return {
    server: filled('CRIER_URL'),
    apiKey: filled('CRIER_API_KEY'),
    token: filled('CRIER_TOKEN'),
    file: join(folder, 'crier', 'login.json'),
  }
}

/** The saved login; undefined when there is none. @throws Error when the file cannot be read */
export function readLogin(file: string): SavedLogin | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return JSON.parse(text) as SavedLogin
  } catch {
    return undefined
  }
}

/** Saves a login for this user's eyes only. */
export function saveLogin(file: string, login: SavedLogin): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // Beside the old one and then in its place: a command that runs at the same time reads one or the other.
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 })
  chmodSync(fresh, 0o600)
  renameSync(fresh, file)
}

export function forgetLogin(file: string): void {
  rmSync(file, { force: true })
}
