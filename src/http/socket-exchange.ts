import { PayloadTooLarge } from '../core/errors.ts'
import type { CallReply, SocketClient } from '../core/socket-calls.ts'
import type { Exchange } from './exchange.ts'
import type { RequestHeaders } from './request-headers.ts'

/** The parts of a call that REST has in its URL, headers and body. */
export interface CallParts {
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly idempotencyKey: string
  readonly ifMatch: string
  readonly requestId: string
}

const NO_HEADERS: RequestHeaders = {
  authorization: '',
  apiKey: '',
  requestId: '',
  accept: '',
  userAgent: '',
  contentType: '',
  contentLength: '',
  idempotencyKey: '',
  ifMatch: '',
  ifNoneMatch: '',
  origin: '',
}

/** A call over a socket in the form of a request for the pipeline. */
export class SocketExchange implements Exchange {
  readonly headers: RequestHeaders
  readonly query: string
  readonly remoteAddress: string
  readonly aborted = false
  readonly #body: Buffer
  /** Set when the pipeline has replied. */
  reply: CallReply | undefined

  constructor({ query, body, idempotencyKey, ifMatch, requestId }: CallParts, client: SocketClient) {
    const { credential } = client
    this.headers = {
      ...NO_HEADERS,
      ...(credential.kind === 'token' ? { authorization: `Bearer ${credential.token}` } : { apiKey: credential.key }),
      ...(body === undefined ? {} : { contentType: 'application/json' }),
      userAgent: client.userAgent,
      idempotencyKey,
      ifMatch: ifMatch === '' || ifMatch === '*' || ifMatch.endsWith('"') ? ifMatch : `"${ifMatch}"`,
      requestId,
    }
    this.query = queryText(query)
    this.remoteAddress = client.remoteAddress
    this.#body = Buffer.from(body === undefined ? '' : JSON.stringify(body))
  }

  async body(limit: number): Promise<Buffer> {
    if (this.#body.length <= limit) return this.#body
    throw PayloadTooLarge({ message: `The body is larger than the limit of ${limit} bytes. Send a smaller one.` })
  }

  /** The body is part of the message, whose memory is collected. */
  releaseBody(): void {}

  send(status: number, headers: readonly (readonly [string, string])[], body: string | Uint8Array): void {
    const named: Record<string, string> = {}
    for (const [name, value] of headers) named[name.toLowerCase()] = value
    const isJson = typeof body === 'string' && named['content-type']?.includes('json') === true
    this.reply = { status, headers: named, ...(body.length === 0 ? {} : isJson ? { json: body } : { body }) }
  }
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const item of Array.isArray(value) ? value : [value]) {
      parameters.append(name, typeof item === 'string' ? item : JSON.stringify(item))
    }
  }
  return parameters.toString()
}
