import type { WorkerGrant } from '../core/worker-grant.ts'
import type { Caller, Member } from '../core/caller.ts'
import type { RequestData } from '../core/context.ts'
import { networkOf } from '../tools/network-address.ts'
import { requestId as newRequestId } from '../tools/id.ts'
import { NOTABLE_MS, type MainThread, type Reservation } from '../core/main-thread.ts'
import type { RateDecision } from '../core/ports.ts'
import { readIfMatch, type IfMatch } from '../core/precondition.ts'
import type { OwnPage } from '../core/own-page.ts'
import type { Reply } from '../core/reply.ts'
import type { Upload } from '../core/upload.ts'
import type { Work } from '../tools/work-time.ts'
import type { BodyStream } from './body-stream.ts'
import type { CompiledOperation } from './compiled-operation.ts'
import type { DigestedUpload } from './content-digest.ts'
import type { Exchange } from './exchange.ts'
import type { IdempotencyClaim } from '../turns/payload.ts'

/**
 * The state of one request in the pipeline. Each step reads what earlier steps have set and adds its own part; the log
 * line is written from it. The constructor sets every field, so that all requests have the same object shape.
 */
export class RequestState implements Work {
  readonly compiled: CompiledOperation
  readonly exchange: Exchange
  /** Raw path parameters, in the order of the pattern. */
  readonly parameters: readonly string[]
  readonly requestId: string
  readonly startedAt: number
  readonly userAgent: string
  /** The body as bytes. */
  bytes: Buffer | undefined
  /** The unread body of an upload. */
  stream: BodyStream | undefined
  /** The body as text; for an upload, the fields besides the file. */
  text = ''
  caller: Caller | undefined
  /** Set for a signed request of a worker. */
  worker: WorkerGrant | undefined
  /** The query without the parameter of a download link. */
  queryText: string
  /** A download link was the credential. */
  downloads = false
  /** A signed URL was the credential, so there is no caller. */
  linked = false
  rate: RateDecision | undefined
  /** Releases the upload slot. */
  leaveUploads: (() => void) | undefined
  /** The file of the request. */
  upload: Upload | undefined
  /** The digest of the file, for a request with an idempotency key. */
  content: DigestedUpload['digest'] | undefined
  path: unknown
  query: unknown
  body: unknown
  /** `body` is the value of the JSON, before it is validated. */
  isParsed = false
  ifMatch: IfMatch
  workspaceId: string | undefined
  member: Member | undefined
  /** The result of the operation's `before`. */
  prepared: unknown = undefined
  /** The claim on the request's idempotency key. */
  claim: IdempotencyClaim | undefined
  /** Releases the idempotency key for other requests on this node. */
  releaseKey: (() => void) | undefined
  /** The reply is the stored reply of an earlier request with the same idempotency key. */
  replayed = false
  /** The reply. Once a step sets it, no further step runs. */
  reply: Reply | undefined
  /** The request has waited for something, so that the time since `startedAt` is not the time that it spent. */
  waited = false
  /** How long it kept the main thread, in milliseconds. */
  spentMs = 0
  /** Its expected time, counted against its tenants until it is over. */
  reservations: Reservation[] | undefined
  readonly #thread: MainThread

  constructor(compiled: CompiledOperation, exchange: Exchange, parameters: readonly string[], thread: MainThread) {
    this.#thread = thread
    this.compiled = compiled
    this.exchange = exchange
    this.parameters = parameters
    this.queryText = exchange.query
    this.requestId = requestIdOf(exchange)
    this.startedAt = performance.now()
    this.userAgent = exchange.headers.userAgent.slice(0, 300)
    this.ifMatch = readIfMatch(exchange.headers.ifMatch)
  }

  /** The context of the handler or turn. Complete once `authorize` has run. */
  get data(): RequestData {
    return this as RequestState & { readonly caller: Caller; readonly member: Member }
  }

  get bearer(): string | undefined {
    return /^Bearer +(\S+)$/i.exec(this.exchange.headers.authorization)?.[1]
  }

  /** The value of the cookie that the operation declares (RFC 6265, 5.4). */
  get cookie(): string | undefined {
    const { cookie } = this.compiled.op
    if (cookie === undefined) return undefined
    const pairs = (this.exchange.http?.extra['cookie'] ?? '').split(/; */)
    return pairs.find((pair) => pair.startsWith(`${cookie}=`))?.slice(cookie.length + 1)
  }

  /** The page of this server that sent the request, if the operation asks for it. */
  get ownPage(): OwnPage | undefined {
    return this.exchange.http?.ownPage
  }

  /** The value of the header that signs the body, if the operation declares one. */
  get signature(): string | undefined {
    const { signature } = this.compiled.op
    return signature === undefined ? undefined : this.exchange.http?.extra[signature] || undefined
  }

  get acceptLanguage(): string | undefined {
    return this.exchange.http?.extra['accept-language'] || undefined
  }

  get remoteAddress(): string {
    return this.exchange.remoteAddress
  }

  /** The account, or the network of a request without one. */
  get sender(): string {
    return this.caller?.userId ?? networkOf(this.remoteAddress)
  }

  /** Counts a piece of work of this request. */
  spent(ms: number): void {
    this.spentMs += ms
    if (ms < NOTABLE_MS) return
    // Only a member's requests count against a workspace, because a stranger could name any.
    const tenants = this.member === undefined ? [this.sender] : [this.sender, this.member.workspaceId]
    this.#thread.spent(this.compiled.op.name, tenants, ms)
  }

  /** The request no longer counts against its tenants. */
  leaveThread(): void {
    this.#thread.over(this.compiled.op.name, this.spentMs)
    for (const reservation of this.reservations ?? []) this.#thread.leave(reservation)
  }

  /** Whether the request uses an idempotency key. */
  get isKeyed(): boolean {
    return this.compiled.op.method === 'POST' && this.exchange.headers.idempotencyKey !== ''
  }
}

/** The client's request id if it is well-formed, otherwise a new one. */
export function requestIdOf(exchange: Exchange): string {
  const given = exchange.headers.requestId
  return given !== '' && /^[\w-]{1,128}$/.test(given) ? given : newRequestId()
}
