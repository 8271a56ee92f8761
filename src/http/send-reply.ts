import type { AppError } from '../core/error.ts'
import type { NamedOperation } from '../core/operation.ts'
import { FileBody, LiveBody, PreparedBody, RawBody, StoredList, type Reply } from '../core/reply.ts'
import { sendText } from './compress-reply.ts'
import { errorReply } from './error-reply.ts'
import { knows } from './entity-tag.ts'
import { sendFile } from './file-reply.ts'
import type { RequestState } from './request-state.ts'

/**
 * Sends a reply.
 * @returns the status that was sent; for a file, once all of it was sent
 */
export function sendReply(state: RequestState, reply: Reply): number | Promise<number> {
  const { compiled, exchange } = state
  const { op } = compiled
  compiled.checker?.checkReply(reply)
  const headers = commonHeaders(state)
  // The address has been a secret. It is used up, but belongs into no log of another server.
  if (state.downloads) headers.push(['Referrer-Policy', 'no-referrer'], ['X-Robots-Tag', 'noindex'])
  if (state.replayed) headers.push(['Idempotent-Replayed', 'true'])
  if (reply.headers) headers.push(...Object.entries(reply.headers))
  const caching = reply.body instanceof RawBody ? reply.body.caching : undefined
  if (caching) {
    const tag = `"${caching.etag}"`
    headers.push(['ETag', tag], ['Cache-Control', caching.control])
    if (knows(exchange.headers.ifNoneMatch, tag)) {
      exchange.send(304, headers, '')
      return 304
    }
  } else if (op.etag) {
    const tag = `"${tagOf(reply.body)}"`
    headers.push(['ETag', tag])
    if (op.method === 'GET' && op.etag === true && knows(exchange.headers.ifNoneMatch, tag)) {
      exchange.send(304, headers, '')
      return 304
    }
  }
  if (reply.body instanceof FileBody) {
    const { http } = exchange
    if (!http) throw new Error(`${op.name} replies with a file, which a socket cannot carry`)
    return sendFile(http, headers, reply.body.options)
  }
  if (reply.body instanceof LiveBody) {
    const { contentType, source } = reply.body
    const { http } = exchange
    if (!http) throw new Error(`${op.name} replies with a stream, which a socket cannot carry`)
    headers.push(['Content-Type', contentType])
    http.sendLive(headers, source)
    return reply.status
  }
  if (reply.body === undefined) {
    exchange.send(reply.status, headers, '')
    return reply.status
  }
  const { contentType, text } = textOf(state, reply)
  headers.push(['Content-Type', contentType])
  if (exchange.http === undefined || !isCompressible(op, contentType)) {
    exchange.send(reply.status, headers, text)
    return reply.status
  }
  return sendText(exchange, reply.status, headers, text)?.then(() => reply.status) ?? reply.status
}

/** The body of a reply that is sent as a whole. */
function textOf({ compiled, exchange }: RequestState, { body, status }: Reply) {
  if (body instanceof RawBody) return { contentType: body.contentType, text: body.content }
  const contentType = 'application/json'
  if (body instanceof StoredList) return { contentType, text: body.text }
  if (body instanceof PreparedBody) {
    // Over a socket, it is a part of a message in JSON.
    return { contentType, text: exchange.http ? body.bytes : Buffer.from(body.bytes).toString('utf8') }
  }
  const serialize = compiled.serializers.get(status)
  if (serialize === undefined) throw new Error(`${compiled.op.name} replied with ${status}, which it does not declare`)
  return { contentType, text: serialize(body) }
}

/**
 * Whether replies of an operation may be compressed. Not those with tokens: the size of a compressed reply tells of a
 * secret beside text that an attacker has chosen (BREACH).
 */
function isCompressible({ limit }: NamedOperation, contentType: string): boolean {
  return limit !== 'auth' && /^(?:text\/|application\/(?:json|xml|.*\+(?:json|xml)))/.test(contentType)
}

/** What identifies the state of a resource: the tag of a prepared text, or the version of the resource. */
function tagOf(body: unknown): string | number | undefined {
  if (body instanceof PreparedBody) return body.tag
  return (body as { data?: { version?: number } } | undefined)?.data?.version
}

/**
 * Sends an error.
 * @returns its status
 */
export function sendError(state: RequestState, publicUrl: string, error: AppError): number {
  const { exchange } = state
  const reply = errorReply(error, exchange.headers.accept, state.requestId, publicUrl, state.caller?.isAdmin)
  exchange.send(reply.status, [...commonHeaders(state), ...reply.headers], reply.body)
  return reply.status
}

function commonHeaders({ compiled, rate, requestId }: RequestState): [string, string][] {
  const headers: [string, string][] = [['X-Request-Id', requestId]]
  if (rate) {
    const { remaining, resetSeconds } = rate
    headers.push(['RateLimit-Policy', compiled.ratePolicy])
    headers.push(['RateLimit', `${compiled.rateName};r=${remaining};t=${resetSeconds}`])
  }
  return headers
}
