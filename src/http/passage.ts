import { readIfMatch, type IfMatch } from '../core/precondition.ts'
import type { Caller, Member } from '../core/caller.ts'
import type { RequestData } from '../core/context.ts'
import { requestId as newRequestId } from '../core/id.ts'
import type { RateDecision } from '../core/ports.ts'
import type { Upload } from '../core/upload.ts'
import type { Exchange } from './exchange.ts'

/** What is known of a request as it passes through; also what its log line tells. */
export interface Passage {
  readonly exchange: Exchange
  readonly requestId: string
  readonly startedAt: number
  caller: Caller | undefined
  /** A signed URL stands for the caller, whom nobody knows. */
  linked: boolean
  workspaceId: string | undefined
  rate: RateDecision | undefined
  replayed: boolean
  /** The file that comes with the request, once the operation lets it in. */
  upload: Upload | undefined
  /** Gives back the place among the uploads under way. */
  leaveUploads: (() => void) | undefined
}

/** The parts of a request that its operation describes, checked. */
export interface Input {
  readonly path: unknown
  readonly query: unknown
  readonly body: unknown
}

/** The request as its handler, or the turn that runs it, knows it. */
export class Request implements RequestData {
  readonly path: unknown
  readonly query: unknown
  readonly body: unknown
  readonly caller: Caller
  readonly member: Member
  readonly workspaceId: string | undefined
  readonly requestId: string
  readonly userAgent: string
  readonly ifMatch: IfMatch
  readonly upload: Upload | undefined
  readonly #exchange: Exchange

  constructor(passage: Passage, input: Input, member: Member | undefined) {
    const { exchange } = passage
    this.path = input.path
    this.query = input.query
    this.body = input.body
    this.caller = passage.caller as Caller
    this.member = member as Member
    this.workspaceId = passage.workspaceId
    this.requestId = passage.requestId
    this.userAgent = exchange.headers.userAgent.slice(0, 300)
    this.ifMatch = readIfMatch(exchange.headers.ifMatch)
    this.upload = passage.upload
    this.#exchange = exchange
  }

  get bearer(): string | undefined {
    return /^Bearer +(\S+)$/i.exec(this.#exchange.headers.authorization)?.[1]
  }

  get remoteAddress(): string {
    return this.#exchange.remoteAddress
  }
}

/** The id that the caller gave the request, when it is a sane one, or a new one. */
export function requestIdOf(exchange: Exchange): string {
  const given = exchange.headers.requestId
  return given !== '' && /^[\w-]{1,128}$/.test(given) ? given : newRequestId()
}
