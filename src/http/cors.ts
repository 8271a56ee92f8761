import type { Logger } from '../core/log.ts'
import { TallyLog } from '../core/tally-log.ts'

const EXPOSED =
  `Accept-Ranges, Content-Disposition, Content-Range, ETag, Idempotent-Replayed, Link, Location, RateLimit,
  RateLimit-Policy, Retry-After, Upload-Offset, X-Request-Id`.replaceAll(/\s+/g, ' ')
const ACCEPTED = `Authorization, X-API-Key, Content-Type, Content-Range, Idempotency-Key, If-Match, If-None-Match,
  If-Range, Range, X-Request-Id, Accept, ETag`.replaceAll(/\s+/g, ' ')

/** The host names that a request gives for this server. */
export interface RequestHosts {
  /** The Host header. */
  readonly host: string
  /** The values of all X-Forwarded-Host headers, in order, joined by commas. */
  readonly forwarded: string
}

type Headers = readonly (readonly [string, string])[]

/**
 * Decides which pages may call the API and open sockets, by their origin (Fetch standard, CORS protocol). Pages of this
 * server itself always may, under whatever name they were loaded. Credentials travel in headers, never in cookies, so a
 * page can only use what its user gave it.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>
  readonly #any: boolean
  readonly #trustedProxies: number
  readonly #refusals: TallyLog

  /**
   * @param origins the origins that are allowed besides the server's own; `*` allows any
   * @param trustedProxies how many proxies in front of this server add to X-Forwarded-Host; 0 ignores the header
   * @param log gets the refusals, repeated ones as a count
   */
  constructor(origins: readonly string[], trustedProxies: number, log: Logger) {
    this.#origins = new Set(origins)
    this.#any = this.#origins.has('*')
    this.#trustedProxies = trustedProxies
    this.#refusals = new TallyLog(log)
  }

  /**
   * Whether a page of this origin may call. A request without an Origin does not come from a page. Logs a refusal.
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

  /** Writes the counts of repeated refusals now. */
  flush(): void {
    this.#refusals.flush()
  }

  /**
   * Whether the page was loaded from this server. Schemes are not compared: behind a proxy that ends TLS, the server does
   * not see the one that the browser used.
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

  /** The headers of a reply to a page of this origin; none where the page may not read it. */
  headersFor(origin: string, hosts: () => RequestHosts): Headers {
    return origin !== '' && this.allows(origin, hosts) ? granted(origin) : NONE
  }

  /** The headers of a reply to a preflight request of an allowed origin. */
  preflight(origin: string, methods: string): Headers {
    return [
      ...granted(origin),
      ['Access-Control-Allow-Methods', methods],
      ['Access-Control-Allow-Headers', ACCEPTED],
      ['Access-Control-Max-Age', '86400'],
    ]
  }
}

/** Characters of an origin that are logged: a client may send one of any length. */
const LONGEST_LOGGED = 200
const NONE: Headers = []

function granted(origin: string): Headers {
  return [
    ['Access-Control-Allow-Origin', origin],
    ['Vary', 'Origin'],
    ['Access-Control-Expose-Headers', EXPOSED],
  ]
}
