import type { OwnPage } from './own-page.ts'
import type { IfMatch } from './precondition.ts'
import type { Static, TSchema } from 'typebox'
import type { Caller, Member } from './caller.ts'
import type { ErrorDefinition } from './error.ts'
import type { FileBody, LiveBody, RawBody, Reply } from './reply.ts'
import type { Scope } from './scope.ts'
import type { Services } from './services.ts'
import type { Sql } from './sql.ts'
import type { MemoryKey, Turn } from './turn.ts'
import type { Upload, UploadDeclaration } from './upload.ts'
import type { WorkerGrant } from './worker-grant.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Route = `${Method} /${string}`

/** `public`: anyone. `user`: any signed-in user. `admin`: platform administrators. `internal`: signed workers. */
export type Access = 'public' | 'user' | 'admin' | 'internal' | Scope

/** Rate limit class. The limits are in `core/limits.ts`. */
export type LimitClass = 'read' | 'write' | 'auth' | 'mail' | 'page' | 'bodiless' | 'none'

/** Socket messages that are operations under a short name. */
export type SocketMessage = 'sync' | 'resume'

/** How the pipeline finds the workspace of a request. */
export type WorkspaceSource =
  | { readonly in: 'path' | 'query' | 'body'; readonly field: string }
  /** The workspace of the resource with the id `path[field]`. The resource's domain lists it under `resources`. */
  | { readonly in: 'owner'; readonly resource: string; readonly field: string }
  /** A lookup that a domain registers under this name, for resources that cannot be found by id alone. */
  | { readonly in: 'lookup'; readonly name: string; readonly field: string }

export const from = {
  path: (field: string): WorkspaceSource => ({ in: 'path', field }),
  query: (field: string): WorkspaceSource => ({ in: 'query', field }),
  body: (field: string): WorkspaceSource => ({ in: 'body', field }),
}

/**
 * The workspace of the resource whose id is in the path.
 * @param resource one of the `resources` of its domain
 */
export function owner(resource: string, field = 'id'): WorkspaceSource {
  return { in: 'owner', resource, field }
}

type Shape<S> = S extends TSchema ? Static<S> : Record<string, never>
type Body<S> = S extends TSchema ? Static<S> : undefined

/** The context of a handler. Services are added to these fields, under their names in `Services`. */
export interface RequestContext<P, Q, B, Prepared = undefined> {
  readonly path: P
  readonly query: Q
  readonly body: B
  /** Set unless the operation is public and the request has no credential. */
  readonly caller: Caller
  /** Set when the operation names a workspace. */
  readonly member: Member
  /** Set when the operation runs as a turn. */
  readonly turn: Turn
  /** Set when the operation declares `upload`. */
  readonly upload: Upload
  /** Set for `access: 'internal'`. */
  readonly worker: WorkerGrant
  readonly requestId: string
  /** The client's address. Behind trusted proxies, it comes from X-Forwarded-For. */
  readonly remoteAddress: string
  readonly userAgent: string
  /** The If-Match header without quotes; undefined for `*`. */
  readonly ifMatch: IfMatch
  /** The token in Authorization, if the operation declares `bearer: 'own'`; undefined without one. */
  readonly bearer: string | undefined
  /** The value of the declared `cookie`; undefined without one. */
  readonly cookie: string | undefined
  /** Set if the operation declares `ownPage` and a page of this server sent the request from a browser. */
  readonly ownPage: OwnPage | undefined
  /** The value of the declared `signature` header; undefined without one. */
  readonly signature: string | undefined
  /** The Accept-Language header, if the operation declares `languages`; undefined without one. */
  readonly acceptLanguage: string | undefined
  /** The result of `before`. */
  readonly prepared: Prepared
}

/** The part of a request that a prelude gets, before the turn runs. */
export type PreludeRequest<P, Q, B> = Pick<RequestContext<P, Q, B>, 'path' | 'query' | 'body' | 'caller'>

/** The transaction of a batch, before its first turn. */
export interface PreludeBatch {
  readonly workspaceId: string
  readonly sql: Sql
  /** See `Turn.memory`. A prelude may fill it. */
  memory<T>(key: MemoryKey<T>): T
}

/** A reply of an operation: a schema, null for no body, or a content type if the body is not JSON. */
export type Returns = TSchema | null | { readonly contentType: string; readonly file?: true; readonly live?: true }

type ReplyFor<R extends Record<number, Returns>> = {
  [S in keyof R & number]: R[S] extends TSchema
    ? Reply<S, Static<R[S]>>
    : R[S] extends null
      ? Reply<S, undefined>
      : R[S] extends { readonly file: true }
        ? Reply<S, FileBody>
        : R[S] extends { readonly live: true }
          ? Reply<S, LiveBody>
          : Reply<S, RawBody>
}[keyof R & number]

/** An example request. Generated tests send it, and the documentation shows it. */
export interface Example {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** The declaration of an operation. Everything about the operation is derived from it. */
export interface OperationDeclaration<
  RT extends Route,
  P extends TSchema | undefined,
  Q extends TSchema | undefined,
  B extends TSchema | undefined,
  R extends Record<number, Returns>,
  U extends UploadDeclaration | undefined = UploadDeclaration | undefined,
  Prepared = undefined,
> {
  readonly route: RT
  readonly summary: string
  /** Details beyond the summary. Markdown. */
  readonly description?: string
  readonly access: Access
  readonly workspace?: WorkspaceSource
  /** Runs as a turn of the workspace's actor: serialized, in one transaction, with an audit entry. */
  readonly turn?: true
  readonly limit?: LimitClass
  /** Handled even when the server refuses other requests. For operations that report the server's state. */
  readonly alwaysAnswered?: true
  readonly path?: P
  readonly query?: Q
  /**
   * A GET that changes something, such as the callback of a sign-in. HEAD, which must not (RFC 9110, 9.2.1), gets 405.
   */
  readonly changes?: true
  /** Accepts query parameters that are not declared. Only where another system builds the URL. */
  readonly openQuery?: true
  readonly body?: B
  /** The body is optional. */
  readonly bodyOptional?: true
  /** The content type of a body that is text rather than JSON. `body` then describes a string. */
  readonly bodyType?: string
  /**
   * `own`: the token in Authorization is not a Crier credential. The request is anonymous; the handler gets the token
   * as `bearer` and must check it.
   */
  readonly bearer?: 'own'
  /** The name of a cookie to read, for pages that a browser is sent to. */
  readonly cookie?: string
  /** Learns whether a page of this server sent the request, and its cookies. For refresh tokens that scripts cannot read. */
  readonly ownPage?: true
  /**
   * The name of a header, in lower case, with which another system signs the body. The handler gets its value as
   * `signature` and must check it against the body as it was sent, so the operation needs a `bodyType` or a raw upload.
   */
  readonly signature?: Lowercase<string>
  /** Reads Accept-Language, for a reply in the language of the reader. */
  readonly languages?: true
  /** The limit of the body in bytes; 100 kB when absent. */
  readonly bodyLimit?: number
  /** How many fields and list items a JSON body may have; `DEFAULT_JSON_MARKS` when absent. See `hasTooManyMarks`. */
  readonly bodyMarks?: number
  /** Accepts a file, which the handler gets as a stream. `body` then describes the other fields of a multipart body. */
  readonly upload?: U
  readonly returns: R
  /** Extra headers of a successful reply, by name. */
  readonly headers?: readonly string[]
  /** Errors of the operation, in addition to those of the pipeline. */
  readonly errors?: readonly ErrorDefinition[]
  /**
   * Allows calls over a socket: `call { operation, path?, query?, body? }`. A string also adds a message of that name,
   * whose fields are those of path, query and body combined: `sync { workspaceId, channelId, after }`.
   */
  readonly socket?: true | SocketMessage
  /**
   * Sends the reply's `data.version`, or the tag of a prepared reply, as an ETag and supports If-None-Match and If-Match. `edits` supports only
   * If-Match, for replies that can change while the version stays the same.
   */
  readonly etag?: true | 'edits'
  /**
   * The query parameter for a credential that is valid for this operation only, used when no header has a credential.
   * For requests of browsers that cannot set headers.
   */
  readonly ticket?: string
  /**
   * Accepts a signed URL (`SignedLinks`) in place of a credential. For content that is the same for everyone who may
   * see it.
   */
  readonly link?: true
  /** Open to accounts with an unconfirmed address. Other operations refuse them with `email_unverified`. */
  readonly unconfirmed?: true
  /** Open to API keys that are limited to scopes or workspaces, although the operation has no workspace. */
  readonly limitedKeys?: true
  /** Leaves the turn out of the audit log, unless it names a target with `turn.audit`. */
  readonly audit?: false
  readonly example: Example
  /**
   * Reads what the turns of one batch need, in one go, before the first of them runs. It must only read, and put its
   * results into `memory`. Handlers must also work without it.
   */
  readonly prelude?: (
    requests: readonly PreludeRequest<Shape<P>, Shape<Q>, Body<B>>[],
    batch: PreludeBatch & Services,
  ) => Promise<void>
  /**
   * Work with other systems that must happen before the turn, such as a check at a platform. A turn is only a
   * transaction and cannot do it. The result must be plain JSON, with secrets encrypted, because the turn may run on
   * another node. It runs again if the request is repeated, so it must be harmless to repeat.
   */
  readonly before?: (context: RequestContext<Shape<P>, Shape<Q>, Body<B>> & Services) => Promise<Prepared>
  /** Returns the reply synchronously if it awaits nothing: a promise costs as much as the rest of a small request. */
  readonly handle: (
    context: RequestContext<Shape<P>, Shape<Q>, Body<B>, Prepared> & Services,
  ) => ReplyFor<R> | Promise<ReplyFor<R>>
}

/** An operation as the pipeline sees it, with its own types erased. */
// oxlint-disable typescript/no-explicit-any -- the only place where the types of individual operations are erased
export type AnyOperation = OperationDeclaration<any, any, any, any, any, any, any>
export type Operation = Omit<AnyOperation, 'handle' | 'prelude' | 'before'> & {
  readonly handle: (context: any) => Reply | Promise<Reply>
  readonly prelude?: (requests: readonly any[], batch: any) => Promise<void>
  readonly before?: (context: any) => Promise<unknown>
}
// oxlint-enable typescript/no-explicit-any

/**
 * Declares an operation. This is the only way to add one: routing, validation, credentials, scopes, tenancy, rate
 * limits, idempotency, turns, documentation, client, CLI and generated tests are all derived from this literal.
 */
export function operation<
  const RT extends Route,
  const R extends Record<number, Returns>,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
  const U extends UploadDeclaration | undefined = undefined,
  Prepared = undefined,
>(declaration: OperationDeclaration<RT, P, Q, B, R, U, Prepared>): OperationDeclaration<RT, P, Q, B, R, U, Prepared> {
  return declaration
}

/** Operations by domain and by name (the OpenAPI operationId). */
export type Registry = Readonly<Record<string, Readonly<Record<string, AnyOperation>>>>

export interface NamedOperation extends Operation {
  readonly name: string
  readonly domain: string
  readonly method: Method
  /** The path with `{parameter}` placeholders. */
  readonly pattern: string
  /**
   * For PUT and PATCH: the fields of the edited resource, as the operation and the GET of the same path reply with
   * them. Otherwise undefined.
   */
  readonly resource: TSchema | undefined
}

/** Whether the reply is a file, which supports ranges. */
export function returnsFile(op: Pick<NamedOperation, 'returns'>): boolean {
  return Object.values(op.returns as Record<string, { file?: true } | null>).some((returns) => returns?.file === true)
}

/** Whether the reply is something to download that needs a credential, so that it can have a download link. */
export function isDownload({
  access,
  method,
  returns,
  ticket,
}: Pick<NamedOperation, 'access' | 'method' | 'returns' | 'ticket'>): boolean {
  if (method !== 'GET' || access === 'public' || access === 'internal' || ticket !== undefined) return false
  const type = (returns as Record<number, { contentType?: string } | null>)[200]?.contentType
  return type !== undefined && !/^(?:text\/html|application\/json)/.test(type)
}

/**
 * All operations of a registry.
 * @throws Error when a declaration is inconsistent; the message names the operation
 */
export function walk(registry: Registry): NamedOperation[] {
  const operations: NamedOperation[] = []
  const shown = resourcesOf(registry)
  const routes = new Set<string>()
  for (const [domain, group] of Object.entries(registry)) {
    for (const [name, declared] of Object.entries(group)) {
      const route = declared.route as string
      const space = route.indexOf(' ')
      const method = route.slice(0, space) as Method
      const pattern = route.slice(space + 1)
      const named = {
        ...(declared as Operation),
        name,
        domain,
        method,
        pattern,
        resource: method === 'PUT' || method === 'PATCH' ? shown.get(pattern) : undefined,
      }
      check(named, routes)
      operations.push(named)
    }
  }
  return operations
}

/** The fields that GET, PUT and PATCH reply with in `data`, by path, if `data` is an object. */
function resourcesOf(registry: Registry): ReadonlyMap<string, TSchema> {
  const resources = new Map<string, { type: 'object'; properties: object }>()
  for (const { returns, route } of Object.values(registry).flatMap((group) => Object.values(group))) {
    const [method = '', pattern = ''] = (route as string).split(' ')
    const envelope = (returns as Record<number, ObjectSchema | null>)[200]
    const data = envelope?.properties?.['data']
    if (!['GET', 'PUT', 'PATCH'].includes(method) || data?.properties === undefined) continue
    const known = resources.get(pattern)?.properties
    resources.set(pattern, { type: 'object', properties: { ...known, ...data.properties } })
  }
  return resources
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, ObjectSchema>>
}

function check(op: NamedOperation, routes: Set<string>): void {
  const fail = (why: string) => {
    throw new Error(`operation ${op.name}: ${why}`)
  }
  if (routes.has(op.route)) fail(`route ${op.route} is declared twice`)
  routes.add(op.route)
  if (op.access.includes(':') && op.workspace === undefined) fail('a scope needs `workspace`')
  if (op.prelude && !op.turn) fail('only a turn has a prelude')
  if (op.turn && op.workspace === undefined) fail('a turn needs `workspace`')
  if (op.method === 'GET' && (op.body ?? op.upload) !== undefined) fail('GET takes no body')
  if (op.link && op.method !== 'GET') fail('only GET can have signed links')
  if (op.socket && (op.upload || returnsFile(op))) fail('sockets cannot carry files')
  if (op.ticket && op.method !== 'GET') fail('only GET can take a ticket in the query')
  if (op.bearer && op.access !== 'public') fail('`bearer: own` needs `access: public`')
  if (op.bodyType && (op.socket || op.turn || op.upload)) fail('a body that is not JSON needs a plain HTTP operation')
  const keepsBytes = op.bodyType !== undefined || op.upload?.kind === 'raw'
  if (op.signature && !keepsBytes) fail('a signed body needs a `bodyType` or a raw upload, because its bytes matter')
  if (op.unconfirmed && op.access !== 'user') fail('`unconfirmed` is only for operations of the signed-in user')
  if (op.turn && op.upload) fail('a turn cannot take a file: store the file first, then run a turn')
  if (op.upload?.kind === 'raw' && op.body !== undefined) fail('a raw body has no fields')
  const parameters = [...op.pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
  const declared = Object.keys((op.path as { properties?: object } | undefined)?.properties ?? {})
  if (parameters.join() !== declared.join()) fail(`path schema must have exactly ${parameters.join(', ') || 'nothing'}`)
}
