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

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Route = `${Method} /${string}`

/** `public`: anyone. `user`: any signed-in user. `admin`: platform administrators. `internal`: signed workers. */
export type Access = 'public' | 'user' | 'admin' | 'internal' | Scope

/** Rate-limit class; the limits themselves are in `core/limits.ts`. */
export type LimitClass = 'read' | 'write' | 'auth' | 'mail' | 'page' | 'bodiless' | 'none'

/** Messages of sockets that are operations under a short name. */
export type SocketMessage = 'sync' | 'resume'

/** How the workspace of a request is found. */
export type WorkspaceSource =
  | { readonly in: 'path' | 'query' | 'body'; readonly field: string }
  /** The workspace that the resource with the id `path[field]` belongs to. Its domain lists it under `resources`. */
  | { readonly in: 'owner'; readonly resource: string; readonly field: string }
  /** A lookup that a domain registers under this name, for resources that need more than the id. */
  | { readonly in: 'lookup'; readonly name: string; readonly field: string }

export const from = {
  path: (field: string): WorkspaceSource => ({ in: 'path', field }),
  query: (field: string): WorkspaceSource => ({ in: 'query', field }),
  body: (field: string): WorkspaceSource => ({ in: 'body', field }),
}

/** The workspace of the resource whose id is in the path. @param resource one of `resources` of its domain */
export function owner(resource: string, field = 'id'): WorkspaceSource {
  return { in: 'owner', resource, field }
}

type Shape<S> = S extends TSchema ? Static<S> : Record<string, never>
type Body<S> = S extends TSchema ? Static<S> : undefined

/** What a handler is given. Services come beside these fields, by their names in `Services`. */
export interface RequestContext<P, Q, B> {
  readonly path: P
  readonly query: Q
  readonly body: B
  /** Set unless the operation is public and the request came without a credential. */
  readonly caller: Caller
  /** Set when the operation names a workspace. */
  readonly member: Member
  /** Set when the operation runs as a turn. */
  readonly turn: Turn
  /** Set when the operation declares `upload`. */
  readonly upload: Upload
  readonly requestId: string
  /** Address of the caller, behind trusted proxies the one they name. */
  readonly remoteAddress: string
  readonly userAgent: string
  /** The If-Match header, without quotes; `*` is undefined. */
  readonly ifMatch: IfMatch
  /** The token in Authorization, where the operation takes its own; undefined without one. */
  readonly bearer: string | undefined
}

/** What a prelude knows of a request whose turn is about to run. */
export type PreludeRequest<P, Q, B> = Pick<RequestContext<P, Q, B>, 'path' | 'query' | 'body' | 'caller'>

/** The transaction of a batch before its first turn. */
export interface PreludeBatch {
  readonly workspaceId: string
  readonly sql: Sql
  /** See `Turn.memory`; a prelude may fill it. */
  memory<T>(key: MemoryKey<T>): T
}

/** A reply of an operation: its schema, or null where there is no body, or a content type where it is no JSON. */
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

/** An example request; the generated tests send it and the documentation shows it. */
export interface Example {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** The literal from which everything about an operation is derived. */
export interface OperationDeclaration<
  RT extends Route,
  P extends TSchema | undefined,
  Q extends TSchema | undefined,
  B extends TSchema | undefined,
  R extends Record<number, Returns>,
  U extends UploadDeclaration | undefined = UploadDeclaration | undefined,
> {
  readonly route: RT
  readonly summary: string
  /** More than the summary can say; Markdown. */
  readonly description?: string
  readonly access: Access
  readonly workspace?: WorkspaceSource
  /** Runs as a turn of the workspace's actor: in order, in one transaction, audited. */
  readonly turn?: true
  readonly limit?: LimitClass
  /** Answered also when the server takes no more requests: what says how the server is. */
  readonly alwaysAnswered?: true
  readonly path?: P
  readonly query?: Q
  readonly body?: B
  /** The body may be absent. */
  readonly bodyOptional?: true
  /** Where the body is no JSON but a text of this type; `body` then describes a string. */
  readonly bodyType?: string
  /**
   * `own`: a token in Authorization is not one of ours. Nobody is signed in; the handler gets it as `bearer` and answers
   * for it.
   */
  readonly bearer?: 'own'
  /** Bytes; 100 kB when absent. */
  readonly bodyLimit?: number
  /** Takes a file, which the handler gets as a stream; `body` then describes the fields of a multipart body. */
  readonly upload?: U
  readonly returns: R
  /** Headers of a success, by name, beyond those that every reply has. */
  readonly headers?: readonly string[]
  /** Errors beyond those that the pipeline itself can answer. */
  readonly errors?: readonly ErrorDefinition[]
  /**
   * May be called over a socket too: `call { operation, path?, query?, body? }`. A name is a message of its own beside
   * it, whose fields are those of path, query and body together: `sync { workspaceId, channelId, after }`.
   */
  readonly socket?: true | SocketMessage
  /**
   * The reply's `data.version` becomes an ETag; If-None-Match and If-Match are honoured. `edits`: only If-Match is,
   * because the reply changes while its version stays.
   */
  readonly etag?: true | 'edits'
  /**
   * The query parameter that may carry a credential made for this operation alone, where no header carries one: for
   * what browsers load without headers.
   */
  readonly ticket?: string
  /** A signed URL (`SignedLinks`) does in place of a credential, whoever has it: for what everybody may be shown alike. */
  readonly link?: true
  /** Open to accounts whose address was never confirmed; others are refused with `email_unverified`. */
  readonly unconfirmed?: true
  /** Open to API keys that are limited to scopes or workspaces, though it names no workspace. */
  readonly limitedKeys?: true
  /** Kept off the audit log although it is a turn. */
  readonly audit?: false
  readonly example: Example
  /**
   * Reads what the turns of one batch need, for all of them at once, before the first of them runs. Only reads; what
   * it finds goes into `memory`. Handlers must do without it too.
   */
  readonly prelude?: (
    requests: readonly PreludeRequest<Shape<P>, Shape<Q>, Body<B>>[],
    batch: PreludeBatch & Services,
  ) => Promise<void>
  /** Gives its reply at once where it waits for nothing: a promise costs as much as the rest of a small request. */
  readonly handle: (
    context: RequestContext<Shape<P>, Shape<Q>, Body<B>> & Services,
  ) => ReplyFor<R> | Promise<ReplyFor<R>>
}

/** An operation as the pipeline sees it, its own types set aside. */
// oxlint-disable typescript/no-explicit-any -- the one place where the types of single operations are erased
export type AnyOperation = OperationDeclaration<any, any, any, any, any>
export type Operation = Omit<AnyOperation, 'handle' | 'prelude'> & {
  readonly handle: (context: any) => Reply | Promise<Reply>
  readonly prelude?: (requests: readonly any[], batch: any) => Promise<void>
}
// oxlint-enable typescript/no-explicit-any

/**
 * Declares an operation. The one constructor, with no way round it: routing, validation, credentials, scopes, tenancy,
 * rate limits, idempotency, turns, documentation, client, CLI and the generated tests all come from this literal.
 */
export function operation<
  const RT extends Route,
  const R extends Record<number, Returns>,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
  const U extends UploadDeclaration | undefined = undefined,
>(declaration: OperationDeclaration<RT, P, Q, B, R, U>): OperationDeclaration<RT, P, Q, B, R, U> {
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
  /** What a PUT or PATCH edits, as its own reply and the GET of the same path show it; undefined for other methods. */
  readonly resource: TSchema | undefined
}

/** Whether the answer is a file, of which a client may ask for a part. */
export function returnsFile(op: Pick<NamedOperation, 'returns'>): boolean {
  return Object.values(op.returns as Record<string, { file?: true } | null>).some((returns) => returns?.file === true)
}

/** Every operation of a registry. @throws when a declaration contradicts itself, naming it. */
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

/** By path: the fields that GET, PUT and PATCH reply with in `data`, where that is an object. */
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
  if (op.link && op.method !== 'GET') fail('only what is read has links')
  if (op.socket && (op.upload || returnsFile(op))) fail('files do not travel over sockets')
  if (op.ticket && op.method !== 'GET') fail('a ticket in the query only reads')
  if (op.bearer && op.access !== 'public') fail('a token of its own is no credential of ours: it must be public')
  if (op.bodyType && (op.socket || op.turn || op.upload)) fail('a body that is no JSON comes over HTTP alone')
  if (op.unconfirmed && op.access !== 'user')
    fail('only what concerns the caller alone is open to unconfirmed accounts')
  if (op.turn && op.upload) fail('a turn takes no file: store it first, then run a turn')
  if (op.upload?.kind === 'raw' && op.body !== undefined) fail('a raw body has no fields')
  const parameters = [...op.pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
  const declared = Object.keys((op.path as { properties?: object } | undefined)?.properties ?? {})
  if (parameters.join() !== declared.join()) fail(`path schema must have exactly ${parameters.join(', ') || 'nothing'}`)
}
