import type { Logger } from '../core/log.ts'
import type { OwnPage } from '../core/own-page.ts'
import { TallyLog } from '../tools/tally-log.ts'

const EXPOSED =
  `Accept-Ranges, Content-Disposition, Content-Range, Date, ETag, Idempotent-Replayed, Link, Location, RateLimit,
  RateLimit-Policy, Retry-After, Upload-Offset, X-Request-Id`.replaceAll(/\s+/g, ' ')
const ACCEPTED = `Authorization, X-API-Key, Content-Type, Content-Range, Idempotency-Key, If-Match, If-None-Match,
  If-Range, Range, X-Request-Id, Accept, ETag`.replaceAll(/\s+/g, ' ')

/** The host names of this server according to a request. */
export interface RequestHosts {
  /** The Host header. */
  readonly host: string
  /** The values of all X-Forwarded-Host headers, in order, joined by commas. */
  readonly forwarded: string
}

/** What a browser says of the page that sends a request. */
export interface PageHeaders extends RequestHosts {
  /** Sec-Fetch-Site. Browsers send it to addresses with HTTPS and to localhost. */
  readonly site: string
  /** The Cookie header. */
  readonly cookies: string
}

type Headers = readonly (readonly [string, string])[]

/**
 * Decides which pages may call the API and open sockets, by their origin (Fetch standard, CORS protocol). Pages of this
 * server are always allowed, under any host name. Credentials are sent in headers, never in cookies, so a page can only
 * use credentials that its user gave it. The only exception are operations with `ownPage`, which read a cookie of pages
 * of this server and of no others. No reply has Access-Control-Allow-Credentials.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>
  readonly #any: boolean
  readonly #trustedProxies: number
  readonly #refusals: TallyLog

  /**
   * @param origins the allowed origins besides the server's own; `*` allows any
   * @param trustedProxies how many proxies in front of this server add to X-Forwarded-Host; 0 ignores the header
   * @param log logs the refusals, with a count for repeated ones
   */
  constructor(origins: readonly string[], trustedProxies: number, log: Logger) {
    this.#origins = new Set(origins)
    this.#any = this.#origins.has('*')
    this.#trustedProxies = trustedProxies
    this.#refusals = new TallyLog(log)
  }

  /**
   * Whether a page of this origin may call. A request without an Origin header does not come from a page of another
   * origin. Logs a refusal.
   * @param hosts called only when the origin is not in the list
   */
  allows(origin: string, hosts: () => RequestHosts): boolean {
    if (origin === '' || this.#any || this.#origins.has(origin)) return true
    if (this.#isSameOrigin(origin, hosts())) return true
    this.#refusals.add({
      level: 'warn',
      message: 'a page of another origin was refused: CORS_ORIGINS and PUBLIC_URL name the allowed ones',
      reason: origin.slice(0, LONGEST_LOGGED),
      fields: hosts(),
    })
    return false
  }

  /**
   * The page that sent a request, if it is a page of this server in a browser. `CORS_ORIGINS` does not count: its pages
   * get no cookies.
   */
  ownPage(origin: string, { cookies, site, ...hosts }: PageHeaders): OwnPage | undefined {
    if (site !== 'same-origin' || !this.#isSameOrigin(origin, hosts)) return undefined
    return { isSecure: origin.startsWith('https:'), cookies }
  }

  /** Logs the counts of repeated refusals now. */
  flush(): void {
    this.#refusals.flush()
  }

  /**
   * Whether the page was loaded from this server. Schemes are not compared: behind a proxy that terminates TLS, the
   * server does not know the scheme that the browser used.
   */
  #isSameOrigin(origin: string, { forwarded, host }: RequestHosts): boolean {
    if (!URL.canParse(origin)) return false
    const page = new URL(origin)
    const matches = (name: string) => {
      const url = `${page.protocol}//${name.trim()}`
      return URL.canParse(url) && new URL(url).host === page.host
    }
    if (page.host === '') return false
    if (matches(host)) return true
    if (this.#trustedProxies === 0 || forwarded === '') return false
    const entries = forwarded.split(',')
    return matches(entries[Math.max(0, entries.length - this.#trustedProxies)] ?? '')
  }

  /** The headers of a reply to a page of this origin; none if the page may not read the reply. */
  headersFor(origin: string, hosts: () => RequestHosts): Headers {
    return origin !== '' && this.allows(origin, hosts) ? granted(origin) : NONE
  }

  /** The headers of a reply to a preflight request from an allowed origin. */
  preflight(origin: string, methods: string): Headers {
    return [
      ...granted(origin),
      ['Access-Control-Allow-Methods', methods],
      ['Access-Control-Allow-Headers', ACCEPTED],
      ['Access-Control-Max-Age', '86400'],
    ]
  }
}

/** How many characters of an origin are logged. Clients may send one of any length. */
const LONGEST_LOGGED = 200
const NONE: Headers = []

function granted(origin: string): Headers {
  return [
    ['Access-Control-Allow-Origin', origin],
    ['Vary', 'Origin'],
    ['Access-Control-Expose-Headers', EXPOSED],
  ]
}
