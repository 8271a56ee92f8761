import type { HttpRequest } from 'uWebSockets.js'

/** Headers that the pipeline reads. */
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

/** What is read of a request beside that which every request may need: each header costs a call into uWS. */
export interface HeaderNeeds {
  /** Those that only requests with a body, which change something, are asked for. */
  readonly body: boolean
  /** If-None-Match: where replies have an ETag. */
  readonly entityTag: boolean
  /** By their names, those that few operations look at. */
  readonly extra: readonly string[]
}

/** What a refusal before any operation needs. */
export const PLAIN_GET: HeaderNeeds = { body: false, entityTag: true, extra: [] }

/** What a page needs. */
export const PAGE: HeaderNeeds = { ...PLAIN_GET, extra: ['accept-encoding'] }

/**
 * A request's headers. uWS gives them only until its handler returns: those that every request is asked for are read at
 * once, and what only a refusal needs is read for a request that is still open then.
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
  }

  get accept(): string {
    this.#accept ??= this.#request?.getHeader('accept') ?? ''
    return this.#accept
  }

  /** Reads what is left, while it can be. */
  readOut(): void {
    void this.accept
    this.#request = undefined
  }
}
