import type { IfMatch } from './precondition.ts'
import type { Caller, Member } from './caller.ts'
import type { RequestContext } from './operation.ts'
import type { Services } from './services.ts'
import type { Turn } from './turn.ts'
import type { Upload } from './upload.ts'

/** What the pipeline has established about a request when its handler runs. */
export interface RequestData {
  readonly path: unknown
  readonly query: unknown
  readonly body: unknown
  readonly caller: Caller
  readonly member: Member
  readonly workspaceId: string | undefined
  readonly requestId: string
  readonly remoteAddress: string
  readonly userAgent: string
  readonly ifMatch: IfMatch
  /** A token that only its operation knows; never part of what crosses to another node, because no turn takes one. */
  readonly bearer?: string | undefined
  /** A file on its way in; never part of what crosses to another node, because no turn takes one. */
  readonly upload?: Upload | undefined
}

type HandlerContext = RequestContext<unknown, unknown, unknown> & Services

/** Makes what handlers are given of a request's data, with the services beside it; `member` in the place of its own. */
export type ContextFactory = (data: RequestData, turn?: Turn, member?: Member) => HandlerContext

/**
 * Services are inherited, not copied: a context costs the same however many services there are. The address is asked
 * for when a handler reads it, because finding it is dear and few do.
 */
export function contextFactory(services: Services): ContextFactory {
  class Context {
    readonly path: unknown
    readonly query: unknown
    readonly body: unknown
    readonly caller: Caller
    readonly member: Member
    readonly requestId: string
    readonly userAgent: string
    readonly ifMatch: IfMatch
    readonly turn: Turn | undefined
    readonly upload: Upload | undefined
    readonly #data: RequestData

    constructor(data: RequestData, turn: Turn | undefined, member: Member) {
      this.path = data.path
      this.query = data.query
      this.body = data.body
      this.caller = data.caller
      this.member = member
      this.requestId = data.requestId
      this.userAgent = data.userAgent
      this.ifMatch = data.ifMatch
      this.turn = turn
      this.upload = data.upload
      this.#data = data
    }

    get bearer(): string | undefined {
      return this.#data.bearer
    }

    get remoteAddress(): string {
      return this.#data.remoteAddress
    }
  }
  Object.setPrototypeOf(Context.prototype, services)
  return (data, turn, member = data.member) => new Context(data, turn, member) as unknown as HandlerContext
}
