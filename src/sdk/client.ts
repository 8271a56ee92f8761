import { bodyOf, followed, Patience, watched } from './client-transfer.ts'
import { randomId } from './random-id.ts'
import type { Routes } from './routes.ts'

/**
 * A typed client of the API. Its types are derived from the operations. At run time it only needs `fetch`:
 *
 *     const crier = createClient({ url: 'http://localhost:3000', apiKey })
 *     const { body } = await crier('POST /api/streams', { body: { workspaceId, title: 'Launch day' } })
 */

/** All routes of the API, such as `GET /api/streams/{id}`. */
export type ApiRoute = keyof Routes

/** True if an object may be empty. */
type IsOptional<T> = Partial<T> extends T ? true : false

type Field<Name extends string, T> = [T] extends [undefined]
  ? { readonly [K in Name]?: undefined }
  : IsOptional<T> extends true
    ? { readonly [K in Name]?: T }
    : { readonly [K in Name]: T }

/** The file of a route that accepts one: with fields beside it, or as the whole body. */
type FileField<U> = U extends 'multipart'
  ? { readonly file: Blob }
  : U extends 'raw'
    ? { readonly content: Blob }
    : { readonly file?: undefined; readonly content?: undefined }

/** The input of a route. A `File` has a name. In Node, `openAsBlob` of `node:fs` opens a file without reading it. */
export type RequestOf<R extends ApiRoute> = Field<'path', Routes[R]['path']> &
  Field<'query', Routes[R]['query']> &
  Field<'body', Routes[R]['body']> &
  FileField<Routes[R]['upload']> &
  RequestSettings

export interface RequestSettings {
  /** The ETag of the version that was read. The change fails with 412 if there is a newer version. */
  readonly ifMatch?: string
  /** For a POST. A key is created when absent, so that retries are safe. */
  readonly idempotencyKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Reports how many bytes of a file were sent or received; in browsers only received bytes. */
  readonly onProgress?: (done: number, total: number | undefined) => void
}

/** Routes that reply with a file. */
export type FileRoute = { [R in ApiRoute]: Routes[R]['file'] extends true ? R : never }[ApiRoute]

/** The successful replies of a route. */
export type ReplyOf<R extends ApiRoute> = {
  [S in keyof Routes[R]['replies'] & number]: ClientReply<S, Routes[R]['replies'][S]>
}[keyof Routes[R]['replies'] & number]

export interface ClientReply<S extends number = number, B = unknown> {
  readonly status: S
  readonly body: B
  readonly headers: Headers
  /** The version of the resource, for `ifMatch`. */
  readonly etag: string | undefined
}

export interface ClientOptions {
  /** The address of the server, without `/api`. */
  readonly url: string
  readonly apiKey?: string
  /** An access token, or a function that returns one. */
  readonly token?: string | (() => string | Promise<string>)
  /** The timeout of one attempt in milliseconds, for a file of each chunk; 30,000 when absent. */
  readonly timeoutMs?: number
  /** How often a repeatable call is retried; 2 when absent. */
  readonly retries?: number
  /** The delay before the first retry in milliseconds. It doubles with each retry; 250 when absent. */
  readonly retryDelayMs?: number
}

type Arguments<R extends ApiRoute> =
  IsOptional<RequestOf<R>> extends true ? [request?: RequestOf<R>] : [request: RequestOf<R>]

export interface CrierClient {
  <R extends ApiRoute>(route: R, ...request: Arguments<R>): Promise<ReplyOf<R>>
  /** Requests a file, whose bytes are read as they arrive. */
  open<R extends FileRoute>(route: R, ...request: Arguments<R>): Promise<FileReply>
}

/** A file that is being received. */
export interface FileReply extends ClientReply<number, ReadableStream<Uint8Array<ArrayBuffer>>> {
  /** Size in bytes, if the server sends it. */
  readonly size: number | undefined
  readonly type: string
}

/** An error reply of the server, with the fields of its body. */
export class CrierError extends Error {
  override readonly name = 'CrierError'
  readonly status: number
  /** See /docs/errors of the server. */
  readonly code: string
  readonly requestId: string | undefined
  readonly docUrl: string | undefined
  /** Invalid fields of the input by JSON pointer. */
  readonly errors: readonly { readonly path: string; readonly code: string; readonly message: string }[]
  readonly details: Readonly<Record<string, unknown>>
  /** For platform administrators: what the operator of the server can do about it. */
  readonly hint: string | undefined
  /** Seconds to wait before a retry. */
  readonly retryAfter: number | undefined

  constructor(status: number, headers: Headers, body: unknown) {
    const known = (body ?? {}) as Partial<Omit<CrierError, 'errors'> & { errors: CrierError['errors'] }>
    super(known.message ?? `the server replied with ${status}`)
    this.status = status
    this.code = known.code ?? 'unknown'
    this.requestId = known.requestId ?? headers.get('x-request-id') ?? undefined
    this.docUrl = known.docUrl
    this.errors = known.errors ?? []
    this.details = known.details ?? {}
    this.hint = known.hint
    const after = Number(headers.get('retry-after') ?? Number.NaN)
    this.retryAfter = Number.isFinite(after) ? after : undefined
  }
}

/** The server could not be reached or did not respond in time. The outcome of the call is unknown. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** A call whose route is only known at run time. */
export interface UntypedRequest extends RequestSettings {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** Sent after the fields of `body`, as multipart. */
  readonly file?: Blob
  /** Sent unchanged, instead of `body`. */
  readonly content?: Blob
}

export function createClient(options: ClientOptions): CrierClient {
  const call = (route: string, request?: UntypedRequest) => send(options, route, request)
  const open = (route: string, request?: UntypedRequest) => openFile(options, route, request)
  return Object.assign(call, { open }) as never
}

const LONGEST_WAIT_S = 20

/**
 * Sends one request. Retries GET, PUT, DELETE, and POST with its idempotency key, after a lost connection or a 503 with
 * Retry-After.
 * @throws CrierError, ConnectionError
 */
export function send(options: ClientOptions, route: string, request: UntypedRequest = {}): Promise<ClientReply> {
  return attempted(options, route, request, (key) => once(options, route, request, key))
}

/**
 * Requests a file. Retries like `send` until the reply starts; after that, the reader can request the rest with a
 * Range.
 * @throws CrierError, ConnectionError
 */
export function openFile(options: ClientOptions, route: string, request: UntypedRequest = {}): Promise<FileReply> {
  return attempted(options, route, request, () => opened(options, route, request))
}

async function attempted<T>(
  options: ClientOptions,
  route: string,
  request: UntypedRequest,
  attemptWith: (key: string | undefined) => Promise<T>,
): Promise<T> {
  const method = route.slice(0, route.indexOf(' '))
  const retries = method === 'PATCH' ? 0 : (options.retries ?? 2)
  const key = method === 'POST' ? (request.idempotencyKey ?? randomId()) : undefined
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await attemptWith(key)
    } catch (error) {
      const wait = pause(error, attempt, options.retryDelayMs ?? 250)
      if (wait === undefined || attempt >= retries || request.signal?.aborted) throw error
      await new Promise((resolve) => {
        setTimeout(resolve, wait)
      })
    }
  }
}

/** Milliseconds before the next attempt; undefined when a retry is pointless. */
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
  const patience = new Patience(options.timeoutMs ?? 30_000, request.signal)
  try {
    const response = await exchange(options, route, request, key, patience)
    return await whole(response, options, request, patience)
  } finally {
    patience.end()
  }
}

async function opened(options: ClientOptions, route: string, request: UntypedRequest): Promise<FileReply> {
  const patience = new Patience(options.timeoutMs ?? 30_000, request.signal)
  try {
    const response = await exchange(options, route, request, undefined, patience)
    if (!response.ok) await whole(response, options, request, patience)
    const length = response.headers.get('content-length')
    const size = length === null ? undefined : Number(length)
    const body = watched(response.body ?? new Blob([]).stream(), {
      onBytes: (done) => {
        patience.touch()
        request.onProgress?.(done, size)
      },
      onEnd: patience.end,
    })
    return { ...common(response), body, size, type: response.headers.get('content-type') ?? '' }
  } catch (error) {
    patience.end()
    throw error
  }
}

async function exchange(
  options: ClientOptions,
  route: string,
  request: UntypedRequest,
  key: string | undefined,
  patience: Patience,
): Promise<Response> {
  const space = route.indexOf(' ')
  const url = new URL(fill(route.slice(space + 1), request.path ?? {}), options.url)
  for (const [name, value] of Object.entries(request.query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined) url.searchParams.append(name, String(item))
    }
  }
  const { body, type } = bodyOf(request, patience.touch)
  const headers = await headersOf(options, request, key, type)
  const { signal } = patience
  try {
    const settings = { method: route.slice(0, space), headers, signal, redirect: 'manual' as const }
    return await followed(await fetch(url, body === undefined ? settings : { ...settings, body }), headers, signal)
  } catch (error) {
    throw lost(error, options, request, patience)
  }
}

async function whole(
  response: Response,
  options: ClientOptions,
  request: UntypedRequest,
  patience: Patience,
): Promise<ClientReply> {
  let bytes: Uint8Array
  try {
    bytes = new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    throw lost(error, options, request, patience)
  }
  const body = read(response, bytes)
  if (!response.ok) throw new CrierError(response.status, response.headers, body)
  return { ...common(response), body }
}

function common({ status, headers }: Response) {
  return { status, headers, etag: headers.get('etag') ?? undefined }
}

function lost(error: unknown, { url }: ClientOptions, { signal }: UntypedRequest, patience: Patience): unknown {
  if (signal?.aborted) return error
  const why = patience.isOver ? 'did not respond in time' : 'cannot be reached'
  return new ConnectionError(`${new URL(url).origin} ${why}`, { cause: error })
}

async function headersOf(
  options: ClientOptions,
  request: UntypedRequest,
  key: string | undefined,
  type: string | undefined,
): Promise<Headers> {
  const headers = new Headers({ Accept: 'application/json', ...request.headers })
  const token = typeof options.token === 'function' ? await options.token() : options.token
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`)
  else if (options.apiKey !== undefined) headers.set('X-API-Key', options.apiKey)
  if (type !== undefined) headers.set('Content-Type', type)
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
    throw new ConnectionError('the reply is not JSON; is this the address of a Crier server?', { cause: error })
  }
}
