import type { HttpRequest } from 'uWebSockets.js'

/** The headers that the pipeline reads. */
export interface RequestHeaders {
  readonly authorization: string
  readonly apiKey: string
  readonly requestId: string
  readonly accept: string
  readonly userAgent: string
  readonly contentType: string
  readonly contentLength: string
  readonly idempotencyKey: string
  readonly ifMatch: string
  readonly ifNoneMatch: string
  readonly origin: string
}

/** Which headers are read in addition to those of every request. Each header costs a call into uWS. */
export interface HeaderNeeds {
  /** Headers of requests that have a body and change something. */
  readonly body: boolean
  /** If-None-Match, for operations whose replies have an ETag. */
  readonly entityTag: boolean
  /** Headers by name that only a few operations read. */
  readonly extra: readonly string[]
}

/** The headers of a request that is refused before it reaches an operation. */
export const PLAIN_GET: HeaderNeeds = { body: false, entityTag: true, extra: [] }

/** The headers that an HTML page needs. */
export const PAGE: HeaderNeeds = { ...PLAIN_GET, extra: ['accept-encoding'] }

/**
 * The headers of a request. uWS provides them only until its handler returns. The common ones are read at once; those
 * that only a refusal needs are read if the request is still open by then.
 */
export class HttpHeaders implements RequestHeaders {
  readonly authorization: string
  readonly apiKey: string
  readonly requestId: string
  readonly origin: string
  readonly ifNoneMatch: string
  readonly userAgent: string
  readonly contentType: string
  readonly contentLength: string
  readonly idempotencyKey: string
  readonly ifMatch: string
  #request: HttpRequest | undefined
  #accept: string | undefined
  #acceptEncoding: string | undefined

  constructor(request: HttpRequest, { body, entityTag }: HeaderNeeds) {
    this.authorization = request.getHeader('authorization')
    this.apiKey = this.authorization === '' ? request.getHeader('x-api-key') : ''
    this.requestId = request.getHeader('x-request-id')
    this.origin = request.getHeader('origin')
    this.ifNoneMatch = entityTag ? request.getHeader('if-none-match') : ''
    this.userAgent = body ? request.getHeader('user-agent') : ''
    this.contentType = body ? request.getHeader('content-type') : ''
    this.contentLength = body ? request.getHeader('content-length') : ''
    this.idempotencyKey = body ? request.getHeader('idempotency-key') : ''
    this.ifMatch = body ? request.getHeader('if-match') : ''
    this.#request = request
    this.#accept = undefined
    this.#acceptEncoding = undefined
  }

  get accept(): string {
    this.#accept ??= this.#request?.getHeader('accept') ?? ''
    return this.#accept
  }

  get acceptEncoding(): string {
    this.#acceptEncoding ??= this.#request?.getHeader('accept-encoding') ?? ''
    return this.#acceptEncoding
  }

  /** Reads the remaining headers before uWS's handler returns. */
  readOut(): void {
    void this.accept
    void this.acceptEncoding
    this.#request = undefined
  }
}

/**
 * The values of all headers of this name, joined by commas: some proxies append to an existing header, others add a new
 * one. Call it before uWS's handler returns.
 * @param header in lower case
 * @param separator what joins them; HTTP/2 can split cookies into several headers (RFC 9113, 8.2.3)
 */
export function allOf(request: HttpRequest, header: string, separator = ','): string {
  const values: string[] = []
  request.forEach((name, value) => {
    if (name === header) values.push(value)
  })
  return values.join(separator)
}
