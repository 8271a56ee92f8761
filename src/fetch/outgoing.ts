import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { resumed } from '../tools/work-time.ts'
import { findTarget, OPEN_RULES, type Target, type TargetRules } from './target.ts'

/** A body of known size that is read once. */
export interface StreamBody {
  readonly stream: Readable
  /** Bytes. */
  readonly size: number
}

export interface OutgoingRequest {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | StreamBody | undefined
  /** How many bytes of the response are read; more is an error, unless `cut` is set. */
  readonly maxBytes: number
  /** Ignores the rest of a longer response. */
  readonly cut?: boolean
  /** The timeout for the lookup and a free connection, and again from there to the last byte, in milliseconds. */
  readonly timeoutMs: number
  /** The longest time between two pieces of the response, in milliseconds. Without it, only `timeoutMs` counts. */
  readonly idleMs?: number
  /** Makes `timeoutMs` the limit of everything, from the lookup to the last byte. */
  readonly wholly?: boolean
  readonly signal?: AbortSignal | undefined
  /**
   * Called when the connection is established, directly before the first byte of the request is written, and before
   * each further piece of a long body. If it throws, the request is not sent, or not completed. For requests that are
   * allowed only for a limited time: lookup, connection and handshake can take long, and the process can be suspended
   * before the request is written.
   */
  readonly guard?: (() => void) | undefined
}

export interface OutgoingReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** A reply whose body is read as it arrives. */
export interface OutgoingStream {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** @throws OutgoingError if the body breaks off, takes too long, or is too large */
  readonly body: AsyncIterable<Buffer>
}

/** A reply before its body, with what ends the request. */
interface Begun {
  readonly reply: IncomingMessage
  readonly fault: (error: unknown) => OutgoingError
  readonly end: () => void
}

/** Why a request has no reply. */
export type OutgoingFault = 'refused' | 'unreachable' | 'timeout' | 'stalled' | 'too_large' | 'cancelled'

export class OutgoingError extends Error {
  override readonly name = 'OutgoingError'
  readonly fault: OutgoingFault
  /** Whether bytes of the request may have reached the server, so that the outcome is unknown. */
  readonly sent: boolean

  constructor(fault: OutgoingFault, message: string, sent: boolean, cause?: unknown) {
    super(message, { cause })
    this.fault = fault
    this.sent = sent
  }
}

/**
 * Connections to one host. Many posts have the same time, and each should reach its platform then. More requests wait
 * for a connection.
 */
const MAX_SOCKETS = 256

/** Idle connections are closed after this time. Shorter than what common servers allow, so that they are not reset. */
const IDLE_MS = 4_000

/**
 * Sends requests to servers that users or operators have named. Every host is looked up and its addresses checked, and
 * the connection can only use those (no DNS rebinding). Redirects are returned, not followed. Connections are kept alive.
 */
export class Outgoing {
  readonly #rules: TargetRules
  readonly #http: HttpAgent
  readonly #https: HttpsAgent

  /** @param mostSockets connections to one host. Infinity if the caller limits its requests */
  constructor(rules: TargetRules = {}, mostSockets: number = MAX_SOCKETS) {
    this.#rules = rules
    // Many endpoints of webhooks can be on one host.
    const maxFreeSockets = mostSockets === Infinity ? 64 : 8
    const options = { keepAlive: true, maxSockets: mostSockets, maxFreeSockets, timeout: IDLE_MS }
    this.#http = new HttpAgent(options)
    this.#https = new HttpsAgent(options)
  }

  static of(allowPrivateAddresses: boolean): Outgoing {
    return new Outgoing(allowPrivateAddresses ? OPEN_RULES : {})
  }

  /**
   * @param rules replaces the rules of the constructor, for hosts that the operator has configured
   * @throws OutgoingError
   */
  async send(request: OutgoingRequest, rules: TargetRules = this.#rules): Promise<OutgoingReply> {
    const { end, fault, reply } = await this.#begin(request, rules)
    try {
      const bytes = await read(reply, request)
      resumed()
      return { status: reply.statusCode ?? 0, headers: reply.headers, bytes }
    } catch (error) {
      throw fault(error)
    } finally {
      end()
    }
  }

  /** The same for a body that is read as it arrives. @throws OutgoingError */
  async open(request: OutgoingRequest, rules: TargetRules = this.#rules): Promise<OutgoingStream> {
    const begun = await this.#begin(request, rules)
    const { headers, statusCode = 0 } = begun.reply
    return { status: statusCode, headers, body: piecesOfReply(begun, request) }
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }

  async #begin(request: OutgoingRequest, rules: TargetRules): Promise<Begun> {
    const late = new AbortController()
    const timer = setTimeout(
      () => late.abort(new DOMException('the request took too long', 'TimeoutError')),
      request.timeoutMs,
    )
    timer.unref()
    const { signal } = late
    // AbortSignal.any takes three times as long, and a thousand requests can start at once.
    const cancel = () => late.abort(request.signal?.reason)
    if (request.signal?.aborted === true) cancel()
    request.signal?.addEventListener('abort', cancel, { once: true })
    const onConnection = () => {
      if (request.wholly !== true) timer.refresh()
    }
    const state = { sent: false, onConnection }
    const end = () => {
      clearTimeout(timer)
      request.signal?.removeEventListener('abort', cancel)
    }
    const fault = (error: unknown) =>
      error instanceof OutgoingError ? error : this.#fault(error, request, signal, state.sent)
    try {
      const target = await raced(findTarget(request.url, rules), signal)
      return { reply: await this.#exchange(target, request, signal, state), fault, end }
    } catch (error) {
      end()
      throw fault(error)
    }
  }

  /** @param ended aborted when the request was cancelled or took too long */
  #fault(error: unknown, request: OutgoingRequest, ended: AbortSignal, sent: boolean): OutgoingError {
    const { host } = new URL(URL.canParse(request.url) ? request.url : 'http://invalid')
    if (request.signal?.aborted === true)
      return new OutgoingError('cancelled', 'the request was cancelled', sent, error)
    if (ended.aborted) {
      return new OutgoingError('timeout', `${host} did not respond within ${request.timeoutMs / 1_000} s`, sent, error)
    }
    const refused = (error as { code?: unknown }).code === 'url_refused'
    const why = (error as Error).message
    return new OutgoingError(refused ? 'refused' : 'unreachable', refused ? why : `${host}: ${why}`, sent, error)
  }

  #exchange(
    target: Target,
    { body, guard, headers, method }: OutgoingRequest,
    signal: AbortSignal,
    state: { sent: boolean; readonly onConnection: () => void },
  ): Promise<IncomingMessage> {
    const { url } = target
    const secure = url.protocol === 'https:'
    return new Promise((resolve, reject) => {
      const request = (secure ? httpsRequest : httpRequest)({
        ...pinned(target),
        method,
        agent: secure ? this.#https : this.#http,
        signal,
        headers: {
          Host: url.host,
          'User-Agent': 'Crier/0.1',
          Accept: 'application/json',
          'Accept-Encoding': 'identity',
          ...lengthOf(body, method),
          ...headers,
        },
      })
      request.on('socket', (socket) => {
        // The wait for a free connection says nothing about the server.
        state.onConnection()
        // Nothing is written before this, not even headers. What Node buffers is sent later without a further check.
        const begin = () => {
          if (request.destroyed) return
          try {
            guard?.()
          } catch (error) {
            request.destroy(new OutgoingError('cancelled', (error as Error).message, false, error))
            return
          }
          state.sent = true
          write(request, body, guard).catch(reject)
        }
        if (socket.connecting) socket.once(secure ? 'secureConnect' : 'connect', begin)
        else begin()
      })
      request.on('response', resolve)
      request.on('error', reject)
    })
  }
}

/** The pieces of a long body that are written with one check of the guard. */
const PIECE_BYTES = 65_536

async function write(
  request: ClientRequest,
  body: OutgoingRequest['body'],
  guard: OutgoingRequest['guard'],
): Promise<void> {
  const bytes = typeof body === 'string' && body.length > PIECE_BYTES ? Buffer.from(body) : body
  const isWhole = bytes === undefined || typeof bytes === 'string' || bytes instanceof Uint8Array
  if (isWhole && (guard === undefined || (bytes?.length ?? 0) <= PIECE_BYTES)) request.end(bytes)
  else if (guard === undefined) await pipeline((bytes as StreamBody).stream, request)
  else await pipeline(guarded(isWhole ? piecesOf(bytes as Uint8Array) : bytes.stream, guard), request)
}

/** Without its last piece, the server has no complete request. */
async function* guarded(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, guard: () => void) {
  for await (const piece of pieces) {
    guard()
    yield piece
  }
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) yield bytes.subarray(start, start + PIECE_BYTES)
}

function lengthOf(body: OutgoingRequest['body'], method: string): Record<string, string> {
  if (body === undefined) return method === 'GET' || method === 'HEAD' ? {} : { 'Content-Length': '0' }
  if (typeof body === 'string') return { 'Content-Length': String(Buffer.byteLength(body)) }
  return { 'Content-Length': String(body instanceof Uint8Array ? body.length : body.size) }
}

/** The options of a request that connects to the checked addresses only. Host name and certificate stay those of the URL. */
export function pinned(target: Target) {
  const { host, port, url } = target
  return {
    host,
    port,
    // Node calls this for the addresses of the host and gets the checked ones, without another lookup.
    lookup: lookupOf(target),
    path: url.pathname + url.search,
    setHost: false,
    maxHeaderSize: 32_768,
    ...(url.protocol === 'https:' && isIP(host) === 0 && { servername: host }),
  }
}

/** The lookup of a connection, which returns the checked addresses. */
function lookupOf({ addresses }: Target): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, callback) => {
    if (options.all === true) callback(null, found)
    else callback(null, found[0]?.address ?? '', found[0]?.family)
  }
}

async function* piecesOfReply(
  { end, fault, reply }: Begun,
  { idleMs, maxBytes }: Pick<OutgoingRequest, 'idleMs' | 'maxBytes'>,
): AsyncGenerator<Buffer> {
  let length = 0
  try {
    for await (const chunk of unpaused(reply, idleMs)) {
      length += chunk.length
      if (length > maxBytes) throw tooLarge(maxBytes)
      yield chunk
    }
  } catch (error) {
    throw fault(error)
  } finally {
    end()
  }
}

/** The pieces of a response. @throws OutgoingError stalled if the next one takes longer than `idleMs` */
function unpaused(reply: IncomingMessage, idleMs: number | undefined): AsyncIterable<Buffer> {
  if (idleMs === undefined) return reply
  return (async function* () {
    const stalled = () => new OutgoingError('stalled', `the response stopped for ${idleMs / 1_000} s`, true)
    const idle = setTimeout(() => reply.destroy(stalled()), idleMs)
    try {
      for await (const chunk of reply as AsyncIterable<Buffer>) {
        idle.refresh()
        yield chunk
      }
    } finally {
      clearTimeout(idle)
    }
  })()
}

function tooLarge(maxBytes: number): OutgoingError {
  return new OutgoingError('too_large', `the response is larger than ${maxBytes} bytes`, true)
}

async function read(
  reply: IncomingMessage,
  { cut = false, idleMs, maxBytes }: Pick<OutgoingRequest, 'cut' | 'idleMs' | 'maxBytes'>,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of unpaused(reply, idleMs)) {
    length += chunk.length
    if (length > maxBytes) {
      // Leaving the loop destroys the connection, so the rest is never read.
      if (cut) return Buffer.concat([...chunks, chunk]).subarray(0, maxBytes)
      throw tooLarge(maxBytes)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Rejects when the signal aborts, whatever the promise does. */
export function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
