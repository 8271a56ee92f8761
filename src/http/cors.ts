const EXPOSED =
  `Accept-Ranges, Content-Disposition, Content-Range, ETag, Idempotent-Replayed, Link, Location, RateLimit,
  RateLimit-Policy, Retry-After, Upload-Offset, X-Request-Id`.replaceAll(/\s+/g, ' ')
const ACCEPTED = `Authorization, X-API-Key, Content-Type, Content-Range, Idempotency-Key, If-Match, If-None-Match,
  If-Range, Range, X-Request-Id, Accept, ETag`.replaceAll(/\s+/g, ' ')

/** Which pages' origins may call the API (Fetch standard, CORS protocol). Credentials travel in headers, never cookies. */
export class Cors {
  readonly #origins: ReadonlySet<string>
  readonly #any: boolean

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins)
    this.#any = this.#origins.has('*')
  }

  /** Whether a page of this origin may connect. A request without an Origin comes from no page. */
  allows(origin: string | undefined): boolean {
    return origin === undefined || origin === '' || this.#any || this.#origins.has(origin)
  }

  headersFor(origin: string): readonly (readonly [string, string])[] {
    if (origin === '' || !this.allows(origin)) return NONE
    return [
      ['Access-Control-Allow-Origin', origin],
      ['Vary', 'Origin'],
      ['Access-Control-Expose-Headers', EXPOSED],
    ]
  }

  preflight(origin: string, methods: string): readonly (readonly [string, string])[] {
    if (origin === '' || !this.allows(origin)) return NONE
    return [
      ...this.headersFor(origin),
      ['Access-Control-Allow-Methods', methods],
      ['Access-Control-Allow-Headers', ACCEPTED],
      ['Access-Control-Max-Age', '86400'],
    ]
  }
}

const NONE: readonly (readonly [string, string])[] = []
