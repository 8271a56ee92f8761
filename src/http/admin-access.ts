import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isSameSecret } from '../tools/keys.ts'

export interface AdminAccessOptions {
  /** The credential required by every page except `/healthz`; undefined if none is required. */
  readonly token: string | undefined
  /** Host names that requests without the token may use. */
  readonly names: readonly string[]
}

/** The refusal of a request to the admin port. */
export interface AdminRefusal {
  readonly status: 401 | 421
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="Crier", Bearer realm="Crier"' }

/**
 * Decides who may read the admin port.
 *
 * A page on any site can point its own host name at this address (DNS rebinding) and have a browser on this machine
 * read the port. Such a request carries that name in its Host header, so only known names are allowed; an IP address
 * and `localhost` cannot be rebound. A request with the token skips the check, because such a page does not know the
 * token.
 */
export class AdminAccess {
  readonly #token: string | undefined
  readonly #names: ReadonlySet<string>

  constructor({ names, token }: AdminAccessOptions) {
    this.#token = token
    this.#names = new Set(['localhost', ...names.map((name) => name.toLowerCase())])
  }

  /** @returns undefined when the request is allowed */
  refuse(request: IncomingMessage, pathname: string): AdminRefusal | undefined {
    if (this.#hasToken(request.headers.authorization)) return undefined
    const name = hostName(request.headers.host)
    if (!this.#isKnown(name)) {
      return {
        status: 421,
        headers: {},
        text: `This host name is not allowed. Use an IP address or localhost, add the name to ADMIN_NAMES, or send ADMIN_TOKEN.\n`,
      }
    }
    if (this.#token === undefined || pathname === '/healthz') return undefined
    return { status: 401, headers: CHALLENGE, text: 'Send ADMIN_TOKEN as a bearer token or as the password.\n' }
  }

  #isKnown(name: string): boolean {
    return isIP(name) > 0 || this.#names.has(name)
  }

  #hasToken(authorization = ''): boolean {
    if (this.#token === undefined) return false
    const [, scheme = '', value = ''] = /^(basic|bearer) +(.+)$/i.exec(authorization) ?? []
    const given = scheme.toLowerCase() === 'basic' ? passwordOf(value) : value
    return isSameSecret(given, this.#token)
  }
}

/** The name of a Host header (RFC 9110, 7.2) in lower case, without port and brackets; empty if there is none. */
function hostName(host = ''): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}

/** The password of a Basic credential (RFC 7617). The user name is ignored. */
function passwordOf(value: string): string {
  const text = Buffer.from(value, 'base64').toString()
  return text.slice(text.indexOf(':') + 1)
}
