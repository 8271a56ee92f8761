import type { IfMatch } from './precondition.ts'
import type { Caller, Member } from './caller.ts'
import type { RequestContext } from './operation.ts'
import type { OwnPage } from './own-page.ts'
import type { Services } from './services.ts'
import type { Turn } from './turn.ts'
import type { Upload } from './upload.ts'
import type { WorkerGrant } from './worker-grant.ts'

/** The request data that the pipeline has prepared for the handler. */
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
  /** A token that the operation checks itself. It never crosses to another node, because turns cannot declare one. */
  readonly bearer?: string | undefined
  /** The value of the cookie that the operation declares. It never crosses to another node. */
  readonly cookie?: string | undefined
  /** The page of this server that sent the request. It never crosses to another node. */
  readonly ownPage?: OwnPage | undefined
  /** The value of the header that signs the body. It never crosses to another node. */
  readonly signature?: string | undefined
  /** The Accept-Language header, if the operation declares that it reads it. It never crosses to another node. */
  readonly acceptLanguage?: string | undefined
  /** The result of the operation's `before`. */
  readonly prepared?: unknown
  /** An incoming file. It never crosses to another node, because turns cannot declare an upload. */
  readonly upload?: Upload | undefined
  /** What a signed request of a worker may do. It never crosses to another node. */
  readonly worker?: WorkerGrant | undefined
}

type HandlerContext = RequestContext<unknown, unknown, unknown> & Services

/** Builds a handler's context from the request data and the services. `member` replaces the member of the data. */
export type ContextFactory = (data: RequestData, turn?: Turn, member?: Member) => HandlerContext

/**
 * Services are inherited through the prototype, not copied, so a context costs the same for any number of services. The
 * address is computed when a handler reads it, because it is expensive and rarely needed.
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

    get cookie(): string | undefined {
      return this.#data.cookie
    }

    get ownPage(): OwnPage | undefined {
      return this.#data.ownPage
    }

    get signature(): string | undefined {
      return this.#data.signature
    }

    get acceptLanguage(): string | undefined {
      return this.#data.acceptLanguage
    }

    get worker(): WorkerGrant | undefined {
      return this.#data.worker
    }

    get prepared(): unknown {
      return this.#data.prepared
    }

    get remoteAddress(): string {
      return this.#data.remoteAddress
    }
  }
  Object.setPrototypeOf(Context.prototype, services)
  return (data, turn, member = data.member) => new Context(data, turn, member) as unknown as HandlerContext
}
