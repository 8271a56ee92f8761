import { isIP } from 'node:net'
import { redisUrl } from '../tools/redis-url.ts'
import { postgresUrl } from '../tools/postgres-url.ts'

/**
 * How settings are read from text. Every reader throws an Error that says what the value must be, and never the value.
 */

export function optional<T>(parse: (text: string) => T) {
  return (text: string | undefined): T | undefined => (text === undefined ? undefined : parse(text))
}

export function withDefault<T>(parse: (text: string) => T, value: T) {
  return (text: string | undefined): T => (text === undefined ? value : parse(text))
}

export function fail(what: string): never {
  throw new Error(what)
}

export const text = (value: string): string => value

export const port = (value: string): number => {
  const number = Number(value)
  return /^\d{1,5}$/.test(value) && number <= 65_535 ? number : fail('must be a port from 0 to 65535')
}

export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value)
    return /^\d+$/.test(value) && number >= min && number <= max
      ? number
      : fail(`must be a whole number from ${min} to ${max}`)
  }

export const flag = (value: string): boolean => {
  if (['1', 'true', 'yes', 'on'].includes(value.toLowerCase())) return true
  if (['0', 'false', 'no', 'off'].includes(value.toLowerCase())) return false
  return fail('must be 1 or 0')
}

/** The number of proxies in front of the server. `yes` and `no` mean 1 and 0. */
export const proxies = (value: string): number => {
  if (/^\d$/.test(value)) return Number(value)
  try {
    return Number(flag(value))
  } catch {
    return fail('must be a number of proxies from 0 to 9')
  }
}

export const url =
  (...protocols: string[]) =>
  (value: string): string => {
    let parsed: URL
    try {
      parsed = new URL(value)
    } catch {
      return fail('must be a URL')
    }
    return protocols.includes(parsed.protocol.slice(0, -1))
      ? value
      : fail(`must begin with ${protocols.join(':// or ')}://`)
  }

/** A URL of PostgreSQL with one server or several. */
export function postgres(value: string): string {
  postgresUrl(value)
  return value
}

/** A URL of Redis: one server, sentinels or a cluster. */
export function redis(value: string): string {
  redisUrl(value)
  return value
}

export const oneOf =
  <const V extends string>(...values: V[]) =>
  (value: string): V =>
    values.includes(value as V) ? (value as V) : fail(`must be one of ${values.join(', ')}`)

export const list = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)

/** Origins of pages (RFC 6454, 6.2), as a browser sends them; `*` stands for all. */
export const origins = (value: string): string[] => list(value).map(origin)

function origin(value: string): string {
  if (value === '*') return value
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#@\s]+)\/?$/i.exec(value) ?? []
  if (rest === '')
    return fail('must name origins with their scheme and without a path, such as https://app.example.com, or *')
  const isWeb = /^https?$/i.test(scheme)
  // Browsers leave out the usual port, and write names in lower case.
  return isWeb && URL.canParse(value) ? new URL(value).origin : `${scheme}://${rest}`.toLowerCase()
}

export const secret = (value: string): string => (value.length >= 32 ? value : fail('must have at least 32 characters'))
export const email = (value: string): string =>
  /^[^@\s]+@[^@\s]+$/.test(value) ? value.toLowerCase() : fail('must be an email address')
export const password = (value: string): string =>
  value.length >= 10 ? value : fail('must have at least 10 characters')
export const address = (value: string): string =>
  isIP(value) > 0 || value === 'localhost' ? value : fail('must be an IP address or localhost')

/** The public address that media is sent to. */
export interface AnnouncedAddress {
  readonly address: string
  readonly port?: number
}

export const announced = (value: string): AnnouncedAddress => {
  if (isIP(value) > 0) return { address: value }
  const [, bracketed, plain, number = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(value) ?? []
  const found = bracketed ?? plain ?? ''
  return isIP(found) > 0 ? { address: found, port: port(number) } : fail('must be an IP address, or IP:port')
}

/** A STUN or TURN server for WebRTC clients. */
export interface IceServer {
  /** `stun:host:port` or `turn:host:port?transport=udp`, without a credential. */
  readonly url: string
  readonly user?: string
  readonly password?: string
}

export const iceServers = (value: string): readonly IceServer[] =>
  list(value).map((entry) => {
    const [, scheme, user, password, rest] = /^(stuns?|turns?):(?:([^:@]+):([^@]+)@)?([\w.:[\]?=-]+)$/.exec(entry) ?? []
    if (scheme === undefined) return fail('must name servers as stun:host:port or turn:user:password@host:port')
    return { url: `${scheme}:${rest}`, ...(user === undefined ? {} : { user, password: password ?? '' }) }
  })

/** A domain under which people outside of a workspace open its reports. */
export interface ReportDomain {
  readonly host: string
  /** The only workspace that can use it. All can if absent. */
  readonly workspaceId?: string
}

export const reportDomains = (value: string): readonly ReportDomain[] =>
  list(value).map((entry) => {
    const shape =
      /^((?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]*[a-z\d])(?:=([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}))?$/i
    const [, host, workspaceId] = shape.exec(entry) ?? []
    if (host === undefined) {
      return fail('must name domains without scheme, port and path, each alone or as domain=workspaceId')
    }
    return { host: host.toLowerCase(), ...(workspaceId !== undefined && { workspaceId: workspaceId.toLowerCase() }) }
  })

/** A provider of sign-in beyond the well-known ones: any OpenID Connect issuer. */
export interface OidcIssuer {
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
}

export const issuers = (value: string): readonly OidcIssuer[] => {
  const shape = 'must be JSON: [{"name":"acme","issuer":"https://…","clientId":"…","clientSecret":"…"}]'
  let parsed: unknown
  try {
    parsed = JSON.parse(value)
  } catch {
    return fail(shape)
  }
  if (!Array.isArray(parsed)) return fail(shape)
  return parsed.map((row: Partial<OidcIssuer>) => {
    if (!row || !/^[a-z][a-z0-9-]{1,31}$/.test(row.name ?? '') || !row.clientId) return fail(shape)
    url('https', 'http')(row.issuer ?? '')
    return row as OidcIssuer
  })
}
