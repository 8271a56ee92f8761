import { accessSync, constants } from 'node:fs'

/** `sslmode` of libpq without `allow` and `prefer`, which would fall back to a connection without TLS. */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full']
/** Files with certificates and keys, as parameters of a URL. */
const TLS_FILES = ['sslrootcert', 'sslcert', 'sslkey']

/**
 * The URL of a server for `pg`. Only its TLS parameters are used, with the meaning that they have in libpq:
 * `sslmode=require` encrypts, `verify-full` also checks the certificate. Other parameters are dropped, because they
 * could replace the settings of our sessions.
 * @throws Error that says what to change
 */
export function connectionString(url: string): string {
  const parsed = new URL(url)
  const given = new URLSearchParams(parsed.search)
  parsed.search = ''
  const mode = given.get('sslmode')
  if (mode !== null && !TLS_MODES.includes(mode)) {
    throw new Error(`sslmode must be ${TLS_MODES.slice(0, -1).join(', ')} or ${TLS_MODES.at(-1)}, not ${mode}`)
  }
  // The authorities of the system: those of Node, which it uses without a file.
  if (given.get('sslrootcert') === 'system') given.delete('sslrootcert')
  if (mode !== null) parsed.searchParams.set('sslmode', mode)
  for (const name of TLS_FILES) {
    const path = given.get(name)
    if (path === null) continue
    if (!canRead(path)) throw new Error(`${name}=${path} cannot be read. Name a file that this user can read`)
    parsed.searchParams.set(name, path)
  }
  if (parsed.search !== '') parsed.searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
