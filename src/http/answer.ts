import type { AppError } from '../core/error.ts'
import type { NamedOperation } from '../core/operation.ts'
import { FileBody, LiveBody, RawBody, type Reply } from '../core/reply.ts'
import { errorReply } from './error-reply.ts'
import { knows } from './entity-tag.ts'
import { sendFile } from './file-reply.ts'
import type { Passage } from './passage.ts'
import type { ReplyChecker } from './reply-checker.ts'
import type { Serializer } from './serialize.ts'

/** What writes the replies of one operation. */
export interface Answering {
  readonly op: NamedOperation
  readonly write: ReadonlyMap<number, Serializer>
  readonly checker: ReplyChecker | undefined
  /** Value of RateLimit-Policy. */
  readonly ratePolicy: string
  /** The policy's name in RateLimit. */
  readonly rateName: string
}

/** Sends a reply. @returns the status that was sent; for a file, when it is through */
export function sendReply(answering: Answering, passage: Passage, reply: Reply): number | Promise<number> {
  const { op } = answering
  answering.checker?.checkReply(reply)
  const headers = commonHeaders(answering, passage)
  if (passage.replayed) headers.push(['Idempotent-Replayed', 'true'])
  if (reply.headers) headers.push(...Object.entries(reply.headers))
  if (op.etag) {
    const version = (reply.body as { data?: { version?: number } } | undefined)?.data?.version
    const tag = `"${version}"`
    headers.push(['ETag', tag])
    if (op.method === 'GET' && op.etag === true && knows(passage.exchange.headers.ifNoneMatch, tag)) {
      passage.exchange.send(304, headers, '')
      return 304
    }
  }
  if (reply.body instanceof FileBody) {
    const { http } = passage.exchange
    if (!http) throw new Error(`${op.name} answers a file, which cannot go over a socket`)
    return sendFile(http, headers, reply.body.options)
  }
  if (reply.body instanceof LiveBody) {
    const { contentType, source } = reply.body
    const { http } = passage.exchange
    if (!http) throw new Error(`${op.name} answers a stream, which cannot go over a socket`)
    headers.push(['Content-Type', contentType])
    http.sendLive(headers, source)
    return reply.status
  }
  if (reply.body === undefined) passage.exchange.send(reply.status, headers, '')
  else if (reply.body instanceof RawBody) {
    headers.push(['Content-Type', reply.body.contentType])
    passage.exchange.send(reply.status, headers, reply.body.content)
  } else {
    const write = answering.write.get(reply.status)
    if (write === undefined) throw new Error(`${op.name} answered ${reply.status}, which it does not declare`)
    headers.push(['Content-Type', 'application/json'])
    passage.exchange.send(reply.status, headers, write(reply.body))
  }
  return reply.status
}

/** Sends an error. @returns its status */
export function sendError(answering: Answering, publicUrl: string, passage: Passage, error: AppError): number {
  const { exchange } = passage
  const reply = errorReply(error, exchange.headers.accept, passage.requestId, publicUrl)
  exchange.send(reply.status, [...commonHeaders(answering, passage), ...reply.headers], reply.body)
  return reply.status
}

function commonHeaders(answering: Answering, passage: Passage): [string, string][] {
  const headers: [string, string][] = [['X-Request-Id', passage.requestId]]
  if (passage.rate) {
    const { remaining, resetSeconds } = passage.rate
    headers.push(['RateLimit-Policy', answering.ratePolicy])
    headers.push(['RateLimit', `${answering.rateName};r=${remaining};t=${resetSeconds}`])
  }
  return headers
}
