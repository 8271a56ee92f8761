import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { checkAddress, type AddressCheck } from '../tools/public-address.ts'
import { UrlRefused, UrlUnreachable } from './errors.ts'

/** The target of a URL, looked up once. The connection may only use these addresses. */
export interface Target {
  readonly url: URL
  /** The host without brackets and trailing dot. */
  readonly host: string
  /** The checked addresses that may be connected to. There is at least one. */
  readonly addresses: readonly string[]
  readonly port: number
}

export interface TargetRules {
  /** Resolves a host name. Defaults to the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
  /** Checks whether an address may be connected to. Defaults to public addresses only. */
  readonly check?: (address: string) => AddressCheck
  /** The ports that may be connected to. */
  readonly ports?: ReadonlySet<number> | 'any'
}

const PORTS: ReadonlySet<number> = new Set([80, 443, 8080, 8443])
const MAX_LENGTH = 2_048

/** The rules of an installation that allows URLs to its own networks. */
export const OPEN_RULES: TargetRules = { check: () => ({ allowed: true }), ports: 'any' }

/**
 * Parses a URL and looks up its addresses. The check uses the bits of the address, so the notation of the host does not
 * matter (decimal, octal, IPv4 in IPv6, trailing dot).
 * @throws AppError url_refused, url_unreachable
 */
export async function findTarget(text: string, rules: TargetRules = {}): Promise<Target> {
  const { host, port, url } = readTarget(text, rules)
  const addresses = isIP(host) > 0 ? [host] : await resolveHost(host, rules.resolve ?? systemResolve)
  return { url, host, addresses: allowedOf(addresses, rules), port }
}

/**
 * Checks a URL that is used later, without a lookup. A host name is looked up and its addresses checked when it is used.
 * @throws AppError url_refused
 */
export function checkUrl(text: string, rules: TargetRules = {}): void {
  const { host } = readTarget(text, rules)
  if (isIP(host) > 0) allowedOf([host], rules)
  else if (rules.check === undefined && /(^|\.)localhost$/i.test(host))
    throw refused('it leads to the server itself. Use a public address')
}

function readTarget(text: string, { ports = PORTS }: TargetRules): Omit<Target, 'addresses'> {
  const url = readUrl(text)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  if (ports !== 'any' && !ports.has(port))
    throw refused(`port ${port} is not allowed. Use one of ${[...ports].join(', ')}`)
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host === '') throw refused('it has no host name. Use a URL such as https://example.com/path')
  return { url, host, port }
}

/** @throws AppError url_refused if none of the addresses may be connected to */
function allowedOf(addresses: readonly string[], { check = checkAddress }: TargetRules): string[] {
  const reasons = new Set<string>()
  const allowed = addresses.filter((address) => {
    const verdict = check(address)
    if (!verdict.allowed) reasons.add(verdict.reason)
    return verdict.allowed
  })
  if (allowed.length === 0) throw refused(`it leads to ${[...reasons].join(' and ')}. Use a public address`)
  return allowed
}

function readUrl(text: string): URL {
  if (text.length > MAX_LENGTH) throw refused(`it is longer than ${MAX_LENGTH} characters. Use a shorter one`)
  const url = URL.parse(text)
  if (url === null) throw refused('it is not a valid URL. Use one such as https://example.com/path')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refused(`the scheme ${url.protocol} is not supported. Use an http: or https: URL`)
  if (url.username !== '' || url.password !== '') throw refused('it contains a user name or password. Leave them out')
  return url
}

async function resolveHost(host: string, resolve: (host: string) => Promise<readonly string[]>) {
  const found = await resolve(host).catch((error: unknown) => {
    throw UrlUnreachable({ message: `The host name ${host} has no IP address. Check how it is spelled.`, cause: error })
  })
  if (found.length === 0)
    throw UrlUnreachable({ message: `The host name ${host} has no IP address. Check how it is spelled.` })
  return found
}

async function systemResolve(host: string): Promise<string[]> {
  return (await lookup(host, { all: true, order: 'verbatim' })).map((entry) => entry.address)
}

function refused(reason: string) {
  return UrlRefused({ message: `This URL is not allowed: ${reason}.` })
}
