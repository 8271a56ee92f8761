import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import ipaddr from 'ipaddr.js'

/** A destination URL is not valid. The message is for the user who entered it. */
export class DestinationUrlError extends Error {
  override readonly name = 'DestinationUrlError'
}

/** The address and RTMP parameters of a destination. None of them is secret. */
export interface DestinationTarget {
  readonly secure: boolean
  /** A host name, or an IP address in canonical form, without brackets. */
  readonly host: string
  readonly port: number
  /** The RTMP application with its query. YouTube's backup server has `?backup=1` there. */
  readonly app: string
  /** The URL of the application, which is sent with `connect`. */
  readonly tcUrl: string
}

const MAX_URL_LENGTH = 2048
const DEFAULT_PORT = { 'rtmp:': 1935, 'rtmps:': 443 } as const

/**
 * Ports of other services, which a crafted RTMP connection could harm: the server ports of the browsers' list of blocked
 * ports, and those of databases and cluster services. All other ports are allowed, because platforms use 80, 443, 1935,
 * 1936, 2935 and many more.
 */
const REFUSED_PORTS = new Set([
  7, 9, 13, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 79, 87, 95, 101, 102, 109, 110, 111, 113, 115, 119, 123, 135,
  137, 138, 139, 143, 161, 162, 179, 389, 427, 445, 465, 512, 513, 514, 515, 548, 554, 587, 601, 631, 636, 873, 993,
  995, 1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3260, 3306, 3389, 5060, 5061, 5432, 5672, 5900, 5984, 6379, 6443,
  7001, 8500, 9042, 9092, 9200, 9300, 10250, 11211, 15672, 26379, 27017, 50051,
])

/**
 * Parses `rtmp://host[:port]/app[/instance…][?query]` or `rtmps://…`. The URL contains no key.
 *
 * @throws DestinationUrlError with a message for the user who entered it
 */
export function parseDestinationUrl(text: string): DestinationTarget {
  if (text.length > MAX_URL_LENGTH)
    throw new DestinationUrlError(`The URL is longer than ${MAX_URL_LENGTH} characters.`)
  // The URL parser removes tabs and line breaks, so the server would get another URL than the user entered.
  if (!/^[\x21-\x7e\u00a1-\uffff]+$/u.test(text)) {
    throw new DestinationUrlError('The URL contains a space or a control character.')
  }
  const url = URL.parse(text)
  if (url === null) throw new DestinationUrlError('This is not a URL. Example: rtmps://live.example.com/app.')
  if (url.protocol !== 'rtmp:' && url.protocol !== 'rtmps:') {
    throw new DestinationUrlError('The URL must begin with rtmp:// or rtmps://.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new DestinationUrlError('The URL must not contain a user name or password.')
  }
  if (url.hash !== '') throw new DestinationUrlError('The URL must not contain a "#" part.')
  const host = normalHost(url.hostname)
  const port = url.port === '' ? DEFAULT_PORT[url.protocol] : Number(url.port)
  if (port === 0) throw new DestinationUrlError('Port 0 is not a valid port.')
  if (REFUSED_PORTS.has(port))
    throw new DestinationUrlError(`Port ${port} is not allowed, because it belongs to a service other than RTMP.`)
  const path = url.pathname.replace(/^\/+|\/+$/g, '')
  if (path === '') throw new DestinationUrlError('The URL has no application, such as /live2 or /app.')
  const app = path + url.search
  const authority = (isIP(host) === 6 ? `[${host}]` : host) + (url.port === '' ? '' : `:${url.port}`)
  return { secure: url.protocol === 'rtmps:', host, port, app, tcUrl: `${url.protocol}//${authority}/${app}` }
}

function normalHost(hostname: string): string {
  if (hostname === '') throw new DestinationUrlError('The URL has no host.')
  if (hostname.startsWith('[')) {
    const literal = hostname.slice(1, -1)
    if (isIP(literal) !== 6) throw new DestinationUrlError('The IPv6 address in the URL is not valid.')
    return ipaddr.parse(literal).toString()
  }
  // RTMP is not a "special" scheme of the URL standard: the parser leaves 0x7f.1, 017700000001 and full-width digits
  // unchanged, but getaddrinfo parses them as addresses. This code parses them the same way. A final dot has no effect.
  const name = domainToASCII(decodeHost(hostname)).toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  const valid = name.length <= 253 && labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
  if (!valid) throw new DestinationUrlError('The host in the URL is not a valid name or address.')
  return name
}

function decodeHost(hostname: string): string {
  try {
    return decodeURIComponent(hostname)
  } catch {
    throw new DestinationUrlError('The host in the URL is not a valid name.')
  }
}
