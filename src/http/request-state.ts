import type { Caller, Member } from '../core/caller.ts'
import type { RequestData } from '../core/context.ts'
import { requestId as newRequestId } from '../core/id.ts'
import type { RateDecision } from '../core/ports.ts'
import { readIfMatch, type IfMatch } from '../core/precondition.ts'
import type { Reply } from '../core/reply.ts'
import type { Upload } from '../core/upload.ts'
import type { BodyStream } from './body-stream.ts'
import type { CompiledOperation } from './compiled-operation.ts'
import type { DigestedUpload } from './content-digest.ts'
import type { Exchange } from './exchange.ts'
import type { IdempotencyClaim } from '../turns/payload.ts'

/**
 * One request on its way through the pipeline. Each step reads what the steps before it have set and adds its own part;
 * the log line is written from it. Every field is set by the constructor, so that all requests have one shape.
 */
export class RequestState {
  readonly compiled: CompiledOperation
  readonly exchange: Exchange
  /** Path parameters as they came, in the order of the pattern. */
  readonly parameters: readonly string[]
  readonly requestId: string
  readonly startedAt: number
  readonly userAgent: string
  /** The body as bytes. */
  bytes: Buffer | undefined
  /** The body of an upload, not read yet. */
  stream: BodyStream | undefined
  /** The body as text; of an upload the fields beside the file. */
  text = ''
  caller: Caller | undefined
  /** A signed URL was the credential: there is no caller. */
  linked = false
  rate: RateDecision | undefined
  /** Gives back the place among the uploads under way. */
  leaveUploads: (() => void) | undefined
  /** The file that comes with the request. */
  upload: Upload | undefined
  /** Identifies the file of a request with an idempotency key. */
  content: DigestedUpload['digest'] | undefined
  path: unknown
  query: unknown
  body: unknown
  ifMatch: IfMatch
  workspaceId: string | undefined
  member: Member | undefined
  /** The claim on the request's idempotency key. */
  claim: IdempotencyClaim | undefined
  /** Lets other requests on this node use the idempotency key. */
  releaseKey: (() => void) | undefined
  /** The reply is the one that an earlier request with the same idempotency key got. */
  replayed = false
  /** Set by the step that answers. No further step runs. */
  reply: Reply | undefined

  constructor(compiled: CompiledOperation, exchange: Exchange, parameters: readonly string[]) {
    this.compiled = compiled
    this.exchange = exchange
    this.parameters = parameters
    this.requestId = requestIdOf(exchange)
    this.startedAt = performance.now()
    this.userAgent = exchange.headers.userAgent.slice(0, 300)
    this.ifMatch = readIfMatch(exchange.headers.ifMatch)
  }

  /** The request as its handler, or the turn that runs it, gets it. Complete once `authorize` has run. */
  get data(): RequestData {
    return this as RequestState & { readonly caller: Caller; readonly member: Member }
  }

  get bearer(): string | undefined {
    return /^Bearer +(\S+)$/i.exec(this.exchange.headers.authorization)?.[1]
  }

  get remoteAddress(): string {
    return this.exchange.remoteAddress
  }

  /** Whether the request repeats, or can be repeated, under an idempotency key. */
  get isKeyed(): boolean {
    return this.compiled.op.method === 'POST' && this.exchange.headers.idempotencyKey !== ''
  }
}

/** The id that the client gave the request, if it is well-formed, or a new one. */
export function requestIdOf(exchange: Exchange): string {
  const given = exchange.headers.requestId
  return given !== '' && /^[\w-]{1,128}$/.test(given) ? given : newRequestId()
}
