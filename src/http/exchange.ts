import type { Readable } from 'node:stream'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { BodyStream, tooLarge } from './body-stream.ts'
import type { ReceiveBuffers } from './receive-buffers.ts'
import { HttpHeaders, type HeaderNeeds, type RequestHeaders } from './request-headers.ts'
import { Departure, dropSource, sendChunks, sendWhole } from './send-chunks.ts'

const STATUS_LINES: Record<number, string> = {
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  206: '206 Partial Content',
  302: '302 Found',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  402: '402 Payment Required',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  406: '406 Not Acceptable',
  409: '409 Conflict',
  410: '410 Gone',
  412: '412 Precondition Failed',
  413: '413 Payload Too Large',
  415: '415 Unsupported Media Type',
  416: '416 Range Not Satisfiable',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
  507: '507 Insufficient Storage',
}

const NO_EXTRA: Readonly<Record<string, string>> = {}

/** What the pipeline needs of a request and its reply, whichever way they travel. */
export type Exchange = Pick<HttpExchange, 'query' | 'remoteAddress' | 'aborted' | 'body' | 'send'> & {
  readonly headers: RequestHeaders
  /** Set where files can travel: not on a socket. */
  readonly http?: HttpExchange
}

/**
 * One request and its reply over uWS: what was read before the first await, the body, and the one reply. uWS's duties
 * live here: `onAborted` is set for whatever outlives its handler, body chunks are copied, late writes are corked, and
 * nothing touches a response whose client has gone.
 */
export class HttpExchange {
  readonly headers: HttpHeaders
  readonly query: string
  readonly #response: HttpResponse
  readonly #forwarded: string
  #remoteAddress: string | undefined
  #ended = false
  aborted = false
  /** Called once, when the reply was sent or the client has gone. */
  onOver: (() => void) | undefined
  /** Sent with whatever reply. */
  corsHeaders: readonly (readonly [string, string])[] = []
  /** A HEAD request: the reply is told without its body. */
  headOnly = false
  /** More body is coming than it is worth waiting for: the reply ends the connection. */
  #endless = false
  /** Headers that only some operations look at, by their names. */
  readonly extra: Readonly<Record<string, string>>
  #body: BodyStream | undefined
  /** A file is being sent: the reply has begun. */
  #sending = false
  #departure: Departure | undefined
  /** uWS's handler has returned. Until then it has the socket corked, and nobody can go away. */
  #isLate = false

  constructor(response: HttpResponse, request: HttpRequest, needs: HeaderNeeds, trustProxy: boolean) {
    this.#response = response
    this.query = request.getQuery() ?? ''
    this.headers = new HttpHeaders(request, needs)
    this.#forwarded = trustProxy ? (request.getHeader('x-forwarded-for').split(',').at(-1)?.trim() ?? '') : ''
    this.extra =
      needs.extra.length === 0
        ? NO_EXTRA
        : Object.fromEntries(needs.extra.map((name) => [name, request.getHeader(name)]))
    // A body may still be on its way when the client goes, and its address with it.
    if (needs.body) void this.remoteAddress
  }

  /** To be called before uWS's handler returns: a request without a reply needs more from now on. */
  outlive(): void {
    if (this.over) return
    this.#isLate = true
    this.headers.readOut()
    this.#response.onAborted(() => {
      const wasOver = this.over
      this.aborted = true
      this.#body?.abort()
      this.#departure?.announce()
      if (!wasOver) this.onOver?.()
    })
  }

  get http(): this {
    return this
  }

  /** The client's address, behind a trusted proxy the one that the proxy names. */
  get remoteAddress(): string {
    this.#remoteAddress ??=
      this.#forwarded || (this.aborted ? 'unknown' : addressText(this.#response.getRemoteAddressAsText()))
    return this.#remoteAddress
  }

  /** Whether the reply was sent or can no longer be. */
  get over(): boolean {
    return this.#ended || this.aborted
  }

  /**
   * The whole body, at most `limit` bytes. Of a larger one the rest is read and dropped within bounds, because a client
   * that is still sending when the connection ends never sees the reply.
   * @throws AppError payload_too_large; a client that goes away leaves the promise pending, with nothing held
   */
  body(limit: number): Promise<Buffer> {
    const announced = Number(this.headers.contentLength)
    if (announced > limit) {
      // uWS itself drops what comes of a body that was already answered.
      this.#endless = announced > MOST_DROPPED
      return Promise.reject(tooLarge(limit))
    }
    return new Promise((resolve, reject) => {
      let chunks: Buffer[] = []
      let size = 0
      this.#response.onData((chunk, isLast) => {
        size += chunk.byteLength
        if (size > limit) {
          chunks = []
          this.#endless = size > MOST_DROPPED
          if (isLast || this.#endless) reject(tooLarge(limit))
          return
        }
        // uWS reuses the memory of a chunk after this callback.
        if (chunk.byteLength > 0) chunks.push(Buffer.from(new Uint8Array(chunk.slice(0))))
        if (isLast) resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
      })
    })
  }

  /**
   * The body as a stream that is not read before somebody reads it, at most `limit` bytes. To be called before anything
   * waits. @throws AppError payload_too_large
   */
  streamBody(limit: number, buffers: ReceiveBuffers): BodyStream {
    const announced = Number(this.headers.contentLength)
    if (announced > limit) {
      this.#endless = announced > MOST_DROPPED
      throw tooLarge(limit)
    }
    this.#body = new BodyStream(this.#response, limit, buffers)
    return this.#body
  }

  /** Sends what a file's reply says about it, without the file. */
  sendEmpty(status: number, headers: readonly (readonly [string, string])[], length: number): void {
    if (this.over || this.#sending) return
    this.#ended = true
    this.#write(() => {
      this.#writeHead(status, headers)
      this.#response.endWithoutBody(length)
    })
    this.onOver?.()
  }

  /** Sends a file as fast as the client takes it; a source that fails ends the connection. */
  async sendStream(
    status: number,
    headers: readonly (readonly [string, string])[],
    source: AsyncIterable<Buffer>,
    length: number,
  ): Promise<void> {
    if (this.over || this.#sending) return dropSource(source)
    this.#sending = true
    this.#write(() => this.#writeHead(status, headers))
    this.#departure = new Departure()
    const sent = await sendChunks(this.#response, source, length, this.#departure)
    if (this.aborted) return
    if (sent) {
      this.#ended = true
      this.onOver?.()
    } else this.#response.close()
  }

  /**
   * Begins to send a stream that has no end of its own. The request counts as answered from here on: nobody waits for
   * what follows to be through.
   */
  sendLive(headers: readonly (readonly [string, string])[], source: Readable): void {
    if (this.over || this.#sending || this.headOnly) {
      source.destroy()
      if (this.headOnly) this.send(200, headers, '')
      return
    }
    this.#sending = true
    this.#write(() => this.#writeHead(200, headers))
    void this.#stream(source)
    this.onOver?.()
    this.onOver = undefined
  }

  async #stream(source: Readable): Promise<void> {
    this.#departure = new Departure()
    const complete = await sendWhole(this.#response, source, this.#departure)
    if (this.aborted) return
    this.#ended = true
    if (complete) this.#response.cork(() => this.#response.end())
    else this.#response.close()
  }

  #write(write: () => void): void {
    if (this.#isLate) this.#response.cork(write)
    else write()
  }

  /**
   * One call into uWS writes all headers: a call costs as much as the text of ten. By index, because this runs for every
   * reply, and taking pairs apart by an iterator costs as much as writing them.
   */
  #writeHead(status: number, headers: readonly (readonly [string, string])[]): void {
    const response = this.#response
    // What uWS writes by itself.
    if (status !== 200) response.writeStatus(STATUS_LINES[status] ?? String(status))
    const first = headers[0] as readonly [string, string]
    let rest = first[1]
    for (let index = 1; index < headers.length; index += 1) {
      const header = headers[index] as readonly [string, string]
      rest += `\r\n${header[0]}: ${header[1]}`
    }
    for (let index = 0; index < this.corsHeaders.length; index += 1) {
      const header = this.corsHeaders[index] as readonly [string, string]
      rest += `\r\n${header[0]}: ${header[1]}`
    }
    response.writeHeader(first[0], rest)
  }

  /** What is still coming of a streamed body is dropped, within bounds. */
  #leaveBody(): void {
    if (!this.#body) return
    const { complete, received } = this.#body
    const rest = Number(this.headers.contentLength || Number.POSITIVE_INFINITY) - received
    this.#endless ||= !complete && rest > MOST_DROPPED
    this.#body.release()
  }

  /**
   * Sends the reply, once.
   * @param close ends the connection too
   */
  send(
    status: number,
    headers: readonly (readonly [string, string])[],
    body: string | Uint8Array,
    close = false,
  ): void {
    if (this.over || this.#sending) return
    this.#leaveBody()
    this.#ended = true
    if (this.#isLate) this.#response.cork(() => this.#writeReply(status, headers, body, close))
    else this.#writeReply(status, headers, body, close)
    this.onOver?.()
  }

  #writeReply(
    status: number,
    headers: readonly (readonly [string, string])[],
    body: string | Uint8Array,
    close: boolean,
  ): void {
    this.#writeHead(status, headers)
    if (status === 304 || status === 204) this.#response.endWithoutBody()
    else if (this.headOnly) this.#response.endWithoutBody(Buffer.byteLength(body), close)
    else this.#response.end(body, close || this.#endless)
  }
}

/** Bytes of an oversized body that are read and dropped before the connection is ended instead. */
const MOST_DROPPED = 16_000_000

const IPV4_MAPPED = /^0{4}:0{4}:0{4}:0{4}:0{4}:ffff:([0-9a-f]{2})([0-9a-f]{2}):([0-9a-f]{2})([0-9a-f]{2})$/

/** uWS prints IPv4 callers on a dual-stack socket as IPv6. */
function addressText(bytes: ArrayBuffer): string {
  const text = Buffer.from(bytes).toString('latin1')
  const mapped = IPV4_MAPPED.exec(text)
  if (!mapped) return text
  return mapped
    .slice(1)
    .map((byte) => Number.parseInt(byte, 16))
    .join('.')
}
