import type { Static, TSchema } from 'typebox'
import type { Api } from './api.ts'

/**
 * A typed client of the API. Its types come from the operations themselves, its run time is `fetch` and nothing else:
 *
 *     const crier = createClient({ url: 'http://localhost:3000', apiKey })
 *     const { body } = await crier('POST /api/streams', { body: { workspaceId, title: 'Launch day' } })
 */

type Domains = Api
type AnyOf = { [D in keyof Domains]: Domains[D][keyof Domains[D]] }[keyof Domains]

/** Every route of the API: `GET /api/streams/{id}`. */
export type ApiRoute = AnyOf['route']
type At<R extends ApiRoute> = Extract<AnyOf, { readonly route: R }>

/** True where an object need have nothing in it. */
type IsOptional<T> = Partial<T> extends T ? true : false

type Field<Name extends string, S> = [S] extends [TSchema]
  ? IsOptional<Static<S>> extends true
    ? { readonly [K in Name]?: Static<S> }
    : { readonly [K in Name]: Static<S> }
  : { readonly [K in Name]?: undefined }

type Part<Op, Name extends keyof Op> = [NonNullable<Op[Name]>] extends [never] ? undefined : NonNullable<Op[Name]>

/** What a route takes. */
export type RequestOf<R extends ApiRoute> = Field<'path', Part<At<R>, 'path'>> &
  Field<'query', Part<At<R>, 'query'>> &
  Field<'body', Part<At<R>, 'body'>> &
  RequestSettings

export interface RequestSettings {
  /** The ETag that was read: the change is refused with 412 when there is a newer version. */
  readonly ifMatch?: string
  /** For a POST; one is made when absent, so that a retry never has a second effect. */
  readonly idempotencyKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

type BodyOf<S> = S extends TSchema ? Static<S> : S extends null ? undefined : Uint8Array
type Success = 200 | 201 | 202 | 204 | 206

/** What a route answers when it succeeds, one of its statuses. */
export type ReplyOf<R extends ApiRoute> = {
  [S in keyof At<R>['returns'] & Success]: ClientReply<S, BodyOf<At<R>['returns'][S]>>
}[keyof At<R>['returns'] & Success]

export interface ClientReply<S extends number = number, B = unknown> {
  readonly status: S
  readonly body: B
  readonly headers: Headers
  /** The version of the resource, for `ifMatch`. */
  readonly etag: string | undefined
}

export interface ClientOptions {
  /** Where the server is, without `/api`. */
  readonly url: string
  readonly apiKey?: string
  /** An access token, or how to get one. */
  readonly token?: string | (() => string | Promise<string>)
  /** Milliseconds for one attempt; 30,000 when absent. */
  readonly timeoutMs?: number
  /** How often a call that may be repeated is tried again; 2 when absent. */
  readonly retries?: number
  /** Milliseconds before the first retry, doubled each time; 250 when absent. */
  readonly retryDelayMs?: number
}

type Arguments<R extends ApiRoute> =
  IsOptional<RequestOf<R>> extends true ? [request?: RequestOf<R>] : [request: RequestOf<R>]

export type CrierClient = <R extends ApiRoute>(route: R, ...request: Arguments<R>) => Promise<ReplyOf<R>>

/** The server refused or failed: its error body, as fields. */
export class CrierError extends Error {
  override readonly name = 'CrierError'
  readonly status: number
  /** See /docs/errors of the server. */
  readonly code: string
  readonly requestId: string | undefined
  readonly docUrl: string | undefined
  /** Faults of the input by JSON pointer. */
  readonly errors: readonly { readonly path: string; readonly code: string; readonly message: string }[]
  readonly details: Readonly<Record<string, unknown>>
  /** Seconds after which it makes sense to try again. */
  readonly retryAfter: number | undefined

  constructor(status: number, headers: Headers, body: unknown) {
    const known = (body ?? {}) as Partial<Omit<CrierError, 'errors'> & { errors: CrierError['errors'] }>
    super(known.message ?? `the server answered ${status}`)
    this.status = status
    this.code = known.code ?? 'unknown'
    this.requestId = known.requestId ?? headers.get('x-request-id') ?? undefined
    this.docUrl = known.docUrl
    this.errors = known.errors ?? []
    this.details = known.details ?? {}
    const after = Number(headers.get('retry-after') ?? Number.NaN)
    this.retryAfter = Number.isFinite(after) ? after : undefined
  }
}

/** The server could not be reached, or did not answer in time. The outcome of the call is unknown. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** A call whose route is not known when the program is written. */
export interface UntypedRequest extends RequestSettings {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

export function createClient(options: ClientOptions): CrierClient {
  return (route, ...request) => send(options, route, request[0] as UntypedRequest | undefined) as never
}

const LONGEST_WAIT_S = 20

/**
 * Sends one request, again where that can do no harm: GET, PUT and DELETE, and POST under its idempotency key, after a
 * lost connection or a 503 that says when to come back.
 * @throws CrierError, ConnectionError
 */
export async function send(options: ClientOptions, route: string, request: UntypedRequest = {}): Promise<ClientReply> {
  const method = route.slice(0, route.indexOf(' '))
  const retries = method === 'PATCH' ? 0 : (options.retries ?? 2)
  const key = method === 'POST' ? (request.idempotencyKey ?? crypto.randomUUID()) : undefined
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await once(options, route, request, key)
    } catch (error) {
      const wait = pause(error, attempt, options.retryDelayMs ?? 250)
      if (wait === undefined || attempt >= retries || request.signal?.aborted) throw error
      await new Promise((resolve) => {
        setTimeout(resolve, wait)
      })
    }
  }
}

/** Milliseconds to wait before trying again; undefined when that makes no sense. */
function pause(error: unknown, attempt: number, delayMs: number): number | undefined {
  const backOff = delayMs * 2 ** attempt * (0.5 + Math.random())
  if (error instanceof ConnectionError) return backOff
  if (!(error instanceof CrierError)) return undefined
  const stillRunning = attempt > 0 && error.code === 'idempotency_key_in_use'
  if (error.status !== 503 && !stillRunning) return undefined
  if (error.retryAfter === undefined || error.retryAfter > LONGEST_WAIT_S) return undefined
  return Math.max(backOff, error.retryAfter * 1000)
}

async function once(
  options: ClientOptions,
  route: string,
  request: UntypedRequest,
  key: string | undefined,
): Promise<ClientReply> {
  const space = route.indexOf(' ')
  const url = new URL(fill(route.slice(space + 1), request.path ?? {}), options.url)
  for (const [name, value] of Object.entries(request.query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined) url.searchParams.append(name, String(item))
    }
  }
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 30_000)
  const headers = await headersOf(options, request, key)
  let response: Response
  let bytes: Uint8Array
  try {
    response = await fetch(url, {
      method: route.slice(0, space),
      headers,
      signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    })
    bytes = new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    if (request.signal?.aborted) throw error
    throw new ConnectionError(`${url.origin} ${timeout.aborted ? 'did not answer in time' : 'cannot be reached'}`, {
      cause: error,
    })
  }
  const body = read(response, bytes)
  if (!response.ok) throw new CrierError(response.status, response.headers, body)
  return { status: response.status, body, headers: response.headers, etag: response.headers.get('etag') ?? undefined }
}

async function headersOf(options: ClientOptions, request: UntypedRequest, key: string | undefined): Promise<Headers> {
  const headers = new Headers({ Accept: 'application/json', ...request.headers })
  const token = typeof options.token === 'function' ? await options.token() : options.token
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`)
  else if (options.apiKey !== undefined) headers.set('X-API-Key', options.apiKey)
  if (request.body !== undefined) headers.set('Content-Type', 'application/json')
  if (request.ifMatch !== undefined) headers.set('If-Match', request.ifMatch)
  if (key !== undefined) headers.set('Idempotency-Key', key)
  return headers
}

function fill(pattern: string, path: Readonly<Record<string, unknown>>): string {
  return pattern.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = path[name]
    if (typeof value !== 'string' || value === '') throw new TypeError(`${pattern} needs path.${name}`)
    return encodeURIComponent(value)
  })
}

function read(response: Response, bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined
  if (!/[/+]json\b/.test(response.headers.get('content-type') ?? '')) return bytes
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown
  } catch (error) {
    throw new ConnectionError('the answer is no JSON; is this address a Crier server?', { cause: error })
  }
}
