import type { Readable } from 'node:stream'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { clientAddress } from '../tools/client-address.ts'
import { networkOf } from '../tools/network-address.ts'
import type { AppError } from '../core/error.ts'
import { Overloaded, RequestTimeout } from '../core/errors.ts'
import type { OwnPage } from '../core/own-page.ts'
import { BodyChunks } from './body-chunks.ts'
import { BodyStream, tooLarge } from './body-stream.ts'
import { peerOf, type ClientBounds } from './client-bounds.ts'
import { dropLeftover, lastReply, MAX_DROPPED } from './leftover.ts'
import type { ReceiveBuffers } from './receive-buffers.ts'
import { headText, isWithoutLength } from './reply-head.ts'
import { allOf, HttpHeaders, type HeaderNeeds, type RequestHeaders } from './request-headers.ts'
import { STATUS_LINES } from './status-lines.ts'
import { Departure, dropSource, sendChunks, sendRest, sendWhole } from './send-chunks.ts'
import type { Transfer } from './transfers.ts'
import type { WorkGate } from './work-gate.ts'

const NO_EXTRA: Readonly<Record<string, string>> = {}

/** What the pipeline needs of a request and its reply, over HTTP or a socket. */
export type Exchange = Pick<HttpExchange, 'query' | 'remoteAddress' | 'aborted' | 'body' | 'releaseBody' | 'send'> & {
  readonly headers: RequestHeaders
  /** Set if the transport can carry files; undefined on a socket. */
  readonly http?: HttpExchange
}

/**
 * One request and its reply over uWS: the headers read before the first await, the body, and the reply. This class
 * meets uWS's requirements: `onAborted` is set before anything asynchronous, body chunks are copied, late writes are
 * corked, and a response is never used after its client has disconnected.
 */
export class HttpExchange {
  readonly headers: HttpHeaders
  readonly query: string
  readonly #response: HttpResponse
  readonly #bounds: ClientBounds
  readonly #trustedProxies: number
  readonly #forwarded: string
  #remoteAddress: string | undefined
  #ended = false
  aborted = false
  /** The gate that counts the request, from `beginWork` or the end of its body until its reply. */
  gate: WorkGate | undefined
  #isWorking = false
  /** Called once, when the reply was sent or the client has disconnected. */
  onOver: (() => void) | undefined
  /** Headers that are sent with any reply. */
  corsHeaders: readonly (readonly [string, string])[] = []
  /** The page of this server that sent the request, if the operation asks for it. */
  ownPage: OwnPage | undefined
  /** A HEAD request: the reply has no body. */
  headOnly = false
  /** The reply asks the client to open another connection for its next request, unless the reply is a file. */
  isLastOnConnection = false
  /** Too much of the body is still to come, so the reply closes the connection. */
  #endless = false
  /** The client may still be sending the body when the reply is sent. */
  #isUnread = false
  /** Headers that only some operations read, by name. */
  readonly extra: Readonly<Record<string, string>>
  #body: BodyStream | undefined
  #chunks: BodyChunks | undefined
  /** An incomplete body, or a reply that the client has not read. */
  #transfer: Transfer | undefined
  /** The reply has started. */
  #sending = false
  #departure: Departure | undefined
  /** uWS's handler has returned. Until then the socket is corked and the client cannot disconnect. */
  #isLate = false

  constructor(
    response: HttpResponse,
    request: HttpRequest,
    needs: HeaderNeeds,
    bounds: ClientBounds,
    trustedProxies: number,
  ) {
    this.#response = response
    this.#bounds = bounds
    this.query = request.getQuery() ?? ''
    this.headers = new HttpHeaders(request, needs)
    this.#trustedProxies = trustedProxies
    bounds.requested(response)
    this.#forwarded = trustedProxies > 0 ? allOf(request, 'x-forwarded-for') : ''
    this.extra =
      needs.extra.length === 0
        ? NO_EXTRA
        : Object.fromEntries(needs.extra.map((name) => [name, request.getHeader(name)]))
    // The client may disconnect while the body is still arriving; its address is unavailable after that.
    if (needs.body) void this.remoteAddress
  }

  /** Call it before uWS's handler returns: prepares a request that is still open to continue asynchronously. */
  outlive(): void {
    if (this.over) return
    this.#isLate = true
    this.headers.readOut()
    this.#response.onAborted(() => {
      const wasOver = this.over
      this.aborted = true
      // The rest of a body does not arrive, so no step is reading it.
      if (this.#transfer !== undefined && !this.#sending) this.releaseBody()
      this.#endTransfer()
      this.#body?.abort()
      this.#departure?.announce()
      if (!wasOver) this.#isOver()
    })
  }

  get http(): this {
    return this
  }

  /** The client's address. See `clientAddress`. */
  get remoteAddress(): string {
    this.#remoteAddress ??= clientAddress(this.#peer(), this.#forwarded, this.#trustedProxies)
    return this.#remoteAddress
  }

  /** Empty once the connection is closed, because uWS no longer knows the address. */
  #peer(): string {
    return this.aborted ? '' : peerOf(this.#response)
  }

  /** Whether the reply was sent or can no longer be sent. */
  get over(): boolean {
    return this.#ended || this.aborted
  }

  /**
   * The whole body, at most `limit` bytes. The rest of a larger body is read and dropped within bounds, because a
   * client that is still sending when the connection closes never sees the reply.
   * @throws AppError payload_too_large, request_timeout, overloaded. If the client disconnects, the promise stays
   * pending and holds nothing
   */
  body(limit: number): Promise<Buffer> {
    const announced = Number(this.headers.contentLength)
    if (announced > limit) return Promise.reject(this.#refuseBody(limit, announced))
    return new Promise((resolve, reject) => {
      const chunks = new BodyChunks(limit, this.#bounds.bodyMemory, announced)
      this.#chunks = chunks
      let isSettled = false
      const transfer = this.#bounds.bodies.begin(networkOf(this.remoteAddress), (reason) => {
        // The rest is not awaited.
        this.#endless = true
        isSettled = true
        chunks.drop()
        reject(reason === 'slow' ? RequestTimeout() : Overloaded({ retryAfter: 1 }))
      })
      this.#transfer = transfer
      this.#response.onData((chunk, isLast) => {
        transfer.bytes += chunk.byteLength
        chunks.take(chunk)
        if (chunks.size > MAX_DROPPED && !isLast) this.#endless = this.#isUnread = true
        if (isSettled || (!isLast && !this.#endless)) return
        isSettled = true
        this.#endTransfer()
        if (chunks.isTooLarge) reject(tooLarge(limit))
        else if (!this.beginWork()) reject(Overloaded({ retryAfter: 1 }))
        else resolve(chunks.whole())
      })
    })
  }

  /** Frees the memory of the body for other requests. Nothing may read it any more. */
  releaseBody(): void {
    this.#chunks?.drop()
    this.#chunks = undefined
  }

  /**
   * The body as a stream, at most `limit` bytes. It is not read before the stream is. Call it before the first await.
   * @throws AppError payload_too_large
   */
  streamBody(limit: number, buffers: ReceiveBuffers): BodyStream {
    const announced = Number(this.headers.contentLength)
    if (announced > limit) throw this.#refuseBody(limit, announced)
    this.#body = new BodyStream(this.#response, limit, buffers)
    return this.#body
  }

  /** @param announced the length of a body that is not read */
  #refuseBody(limit: number, announced: number): AppError {
    this.#isUnread = true
    // uWS itself drops the rest of a body after the reply.
    this.#endless = announced > MAX_DROPPED
    return tooLarge(limit)
  }

  /** Sends the status and the headers of a file's reply, without the file. */
  sendEmpty(status: number, headers: readonly (readonly [string, string])[], length: number): void {
    if (this.over || this.#sending) return
    this.#write(() => this.#endBodiless(status, headers, length, false))
  }

  /** Sends a file as fast as the client reads it. A source that fails closes the connection. */
  async sendStream(
    status: number,
    headers: readonly (readonly [string, string])[],
    source: AsyncIterable<Buffer>,
    length: number,
  ): Promise<void> {
    if (this.over || this.#sending) return dropSource(source)
    this.#sending = true
    this.#answered()
    this.#write(() => this.#writeHead(status, headers))
    this.#departure = new Departure()
    const sent = await sendChunks(this.#response, source, length, this.#departure)
    if (this.aborted) return
    if (sent) {
      this.#isOver()
    } else this.#response.close()
  }

  /**
   * Starts to send an endless stream. From here on the request counts as complete, so that shutdown does not
   * wait for the stream.
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
    this.#answered()
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

  /** @param last text after the last header */
  #writeHead(status: number, headers: readonly (readonly [string, string])[], last = ''): void {
    // uWS itself writes 200.
    if (status !== 200) this.#response.writeStatus(STATUS_LINES[status] ?? String(status))
    this.#response.writeHeader('X-Content-Type-Options', headText(headers, this.corsHeaders) + last)
  }

  /** Drops the rest of a streamed body, within bounds. */
  #leaveBody(): void {
    if (!this.#body) return
    const { complete, received } = this.#body
    const rest = Number(this.headers.contentLength || Number.POSITIVE_INFINITY) - received
    this.#isUnread ||= !complete
    this.#endless ||= !complete && rest > MAX_DROPPED
    this.#body.release()
  }

  /**
   * Sends the reply, once. A client that does not read it gets no further replies: uWS closes a connection on which
   * another request arrives meanwhile.
   * @param close also closes the connection
   */
  send(
    status: number,
    headers: readonly (readonly [string, string])[],
    body: string | Uint8Array,
    close = this.isLastOnConnection,
  ): void {
    if (this.over || this.#sending) return
    this.#leaveBody()
    this.#sending = true
    this.#answered()
    if (close || this.#endless || (status === 429 && this.#bounds.mustClose(this.#response)))
      this.#sendLast(status, headers, body)
    else this.#write(() => this.#writeReply(status, headers, body))
  }

  /** Sends a reply with all headers as one text. @returns false if it needs more than that; nothing was sent then */
  sendReady(head: string, bytes: Uint8Array): boolean {
    if (this.isLastOnConnection || this.headOnly || this.corsHeaders.length > 0 || this.#isLate) return false
    this.#sending = true
    this.#answered()
    this.#response.writeHeader('X-Content-Type-Options', `nosniff${head}`)
    this.#sendBody(bytes, bytes.byteLength)
    return true
  }

  /**
   * Sends a reply that closes the connection, after uWS has parsed everything that it has read. Otherwise a pipelined
   * request would be handled too and the connection would stay open.
   */
  #sendLast(status: number, headers: readonly (readonly [string, string])[], body: string | Uint8Array): void {
    setImmediate(() => {
      if (this.aborted) return
      if (isWithoutLength(status)) {
        this.#closeBodiless(status, headers)
        return
      }
      if (this.#isUnread && !this.headOnly && typeof body === 'string') {
        this.#sendWhileReading(status, headers, body)
        return
      }
      this.#response.cork(() => {
        if (this.headOnly) {
          this.#endBodiless(status, headers, Buffer.byteLength(body), true)
          return
        }
        this.#writeHead(status, headers)
        this.#response.end(body, true)
        this.#isOver()
      })
    })
  }

  #sendWhileReading(status: number, headers: readonly (readonly [string, string])[], body: string): void {
    const network = networkOf(this.remoteAddress)
    this.#response.cork(() => this.#writeHead(status, headers, lastReply(body)))
    this.#isOver()
    this.#transfer = dropLeftover(this.#response, this.#bounds.leftovers, network)
  }

  #writeReply(status: number, headers: readonly (readonly [string, string])[], body: string | Uint8Array): void {
    const size = Buffer.byteLength(body)
    if (this.headOnly || size === 0) {
      this.#endBodiless(status, headers, isWithoutLength(status) ? undefined : size, false)
      return
    }
    this.#writeHead(status, headers)
    this.#sendBody(body, size)
  }

  #sendBody(body: string | Uint8Array, size: number): void {
    const [, done] = this.#response.tryEnd(body, size)
    if (done) {
      this.#isOver()
      return
    }
    const transfer = this.#bounds.replies.begin(networkOf(this.remoteAddress), () => this.#response.close())
    this.#transfer = transfer
    sendRest(this.#response, typeof body === 'string' ? Buffer.from(body) : body, (offset, complete) => {
      transfer.bytes = offset
      if (complete) this.#isOver()
    })
  }

  /** @param length the value of Content-Length; undefined omits the header */
  #endBodiless(
    status: number,
    headers: readonly (readonly [string, string])[],
    length: number | undefined,
    close: boolean,
  ): void {
    if (!this.#bounds.allowsBodiless(this.remoteAddress)) {
      this.#isOver()
      this.#response.close()
      return
    }
    this.#writeHead(status, headers)
    // An argument that is undefined would be sent as a length of 2^63, which proxies refuse.
    if (length === undefined) this.#response.endWithoutBody()
    else this.#response.endWithoutBody(length, close)
    this.#isOver()
  }

  /** Sends a reply that has no length, and closes. uWS closes only after a reply that has one, so this ends the headers. */
  #closeBodiless(status: number, headers: readonly (readonly [string, string])[]): void {
    if (this.#bounds.allowsBodiless(this.remoteAddress)) {
      this.#response.cork(() => this.#writeHead(status, headers, '\r\nConnection: close\r\n'))
    }
    this.#isOver()
    this.#response.close()
  }

  /**
   * The request is complete and counts at the gate.
   * @returns false when the server is at its limit
   */
  beginWork(): boolean {
    if (this.gate?.enter() === false) return false
    this.#isWorking = this.gate !== undefined
    return true
  }

  #answered(): void {
    if (!this.#isWorking) return
    this.#isWorking = false
    this.gate?.leave()
  }

  #endTransfer(): void {
    if (this.#transfer === undefined) return
    const { bodies, leftovers, replies } = this.#bounds
    bodies.end(this.#transfer)
    replies.end(this.#transfer)
    leftovers.end(this.#transfer)
    this.#transfer = undefined
  }

  /** The reply was sent, or can no longer be sent. */
  #isOver(): void {
    this.#ended = true
    this.#endTransfer()
    this.#answered()
    this.onOver?.()
  }
}
