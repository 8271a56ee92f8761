import { createServer } from 'node:net'
import * as uWS from 'uWebSockets.js'
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import type { Clock } from '../core/clock.ts'
import type { AppError } from '../core/error.ts'
import {
  BadRequest,
  MethodNotAllowed,
  OriginNotAllowed,
  Overloaded,
  RateLimited,
  RouteNotFound,
  ShuttingDown,
} from '../core/errors.ts'
import type { Logger } from '../core/log.ts'
import { returnsFile, type Method, type NamedOperation } from '../core/operation.ts'
import { ClientBounds, type NodeLimiter } from './client-bounds.ts'
import type { Cors, PageHeaders, RequestHosts } from './cors.ts'
import { errorReply } from './error-reply.ts'
import { HttpExchange } from './exchange.ts'
import { framingFault } from './framing.ts'
import type { HttpMetrics } from './metrics.ts'
import { knows } from './entity-tag.ts'
import { allOf, PAGE, PLAIN_GET, type HeaderNeeds } from './request-headers.ts'
import { takesGzip } from './page.ts'
import { requestIdOf } from './request-state.ts'
import { NO_OPERATION } from './request-log.ts'
import { compileOperation, type PipelineOptions, type RequestHandler } from './pipeline.ts'
import { WorkGate } from './work-gate.ts'

/** A page that is not an operation: documentation, its script, the API documents. */
export interface Page {
  readonly path: string
  readonly serve: () => Promise<PageContent> | PageContent
}

export interface PageContent {
  /** 200 by default. */
  readonly status?: 302
  readonly contentType: string
  readonly content: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** The same for clients that accept gzip. */
  readonly compressed?: Pick<PageContent, 'content' | 'headers'>
}

export interface ServerOptions {
  readonly operations: readonly NamedOperation[]
  readonly pipeline: PipelineOptions
  readonly pages: readonly Page[]
  readonly metrics: HttpMetrics
  readonly log: Logger
  /** How many proxies in front of this server add to X-Forwarded-For. */
  readonly trustedProxies: number
  /** How many requests are handled at once. Further requests are refused with Retry-After. */
  readonly mostInFlight: number
  readonly cors: Cors
  readonly clock: Clock
  /** Rate limits for pages, refusals and replies without a body, which no operation counts. */
  readonly limiter: NodeLimiter
}

type Header = readonly [string, string]

/** The package's types omit the options of `listen`. */
const EXCLUSIVE_PORT = (uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number }).LIBUS_LISTEN_EXCLUSIVE_PORT
type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void

const VERBS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const

/** The HTTP front end: uWebSockets.js with all operations, the pages, 404 and 405. */
export class HttpServer {
  readonly app: TemplatedApp
  readonly #options: ServerOptions
  #listening: us_listen_socket | undefined
  readonly #bounds: ClientBounds
  readonly #gate: WorkGate
  /** Requests whose reply was not sent yet, including those with an incomplete body. */
  #open = 0
  #draining = false
  #endsConnections = false
  #whenIdle: (() => void) | undefined
  readonly #requestOver = () => {
    this.#open -= 1
    if (this.#open === 0) this.#whenIdle?.()
  }

  constructor(options: ServerOptions) {
    this.#options = options
    this.app = uWS.App()
    this.#bounds = new ClientBounds(options.clock, options.limiter, options.metrics)
    this.#gate = new WorkGate(options.mostInFlight)
    // The types say that `change` is an object. It is -1 when a connection closes.
    this.app.filter((response, change) => {
      if ((change as unknown as number) > 0) this.#bounds.opened(response)
    })
    options.metrics.inFlight = () => this.#gate.count
    const methods = new Map<string, AllowedMethod[]>()
    const accepted = new Map<string, Header[]>()
    for (const op of options.operations) {
      const pattern = op.pattern.replace(/\{(\w+)\}/g, ':$1')
      const parameters = [...op.pattern.matchAll(/\{\w+\}/g)].length
      const handle = compileOperation(op, options.pipeline)
      const served: Served = {
        needs: headersOf(op),
        parameters,
        handle,
        count: countOf(op),
        asksForPage: op.ownPage === true,
      }
      this.app[VERBS[op.method]](pattern, (response, request) => this.#serve(response, request, served, false))
      if (takesHead(op)) {
        this.app.head(pattern, (response, request) => this.#serve(response, request, served, true))
      }
      methods.set(pattern, [...(methods.get(pattern) ?? []), op.method, ...(takesHead(op) ? (['HEAD'] as const) : [])])
      accepted.set(pattern, [...(accepted.get(pattern) ?? []), ...acceptedBody(op)])
    }
    for (const page of options.pages) {
      this.app.get(page.path, (response, request) => this.#page(response, request, page, false))
      this.app.head(page.path, (response, request) => this.#page(response, request, page, true))
      methods.set(page.path, [...(methods.get(page.path) ?? []), 'GET', 'HEAD'])
    }
    for (const [pattern, allowed] of methods) {
      this.#refuseOtherMethods(pattern, allowed)
      const bodies = accepted.get(pattern) ?? []
      this.app.options(pattern, (response, request) => this.#preflight(response, request, allowHeader(allowed), bodies))
    }
  }

  /** Call it before a handler that is not of this server handles a request. @param response the one of uWS */
  requestedElsewhere(response: object): void {
    this.#bounds.requested(response as HttpResponse)
  }

  /**
   * Replies 405 for the other methods of a path. Each method needs its own route, because a route with a parameter that
   * takes the method would otherwise match first.
   */
  #refuseOtherMethods(pattern: string, allowed: readonly AllowedMethod[]): void {
    const refuse = (response: HttpResponse, request: HttpRequest) =>
      this.#refuse(response, request, MethodNotAllowed, [['Allow', allowHeader(allowed)]])
    for (const [method, verb] of Object.entries(VERBS)) {
      if (!allowed.includes(method as Method)) this.app[verb](pattern, refuse)
    }
    if (!allowed.includes('HEAD')) this.app.head(pattern, refuse)
    this.app.any(pattern, refuse)
  }

  /**
   * Refuses HTTP requests on a path that only serves WebSockets. A 426 should name them in `Upgrade` (RFC 9110,
   * 15.5.22), but nginx passes that header on to clients of HTTP/2, which forbids it, and they see no reply at all.
   */
  refuseHttp(pattern: string, error: () => AppError): void {
    this.app.any(pattern, (response, request) => this.#refuse(response, request, error, []))
  }

  /** Replies 404 on all other paths. Call it last, because sockets add their own routes before. */
  finishRoutes(): void {
    this.app.any('/*', (response, request) => this.#refuse(response, request, RouteNotFound, []))
  }

  /**
   * @returns the port that was bound
   * @throws Error with the system's `code` when it cannot be bound
   */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      // Exclusive, because two servers that share a port would each get half of the requests.
      const listen = this.app.listen.bind(this.app) as unknown as ListenWithOptions
      listen(host, port, EXCLUSIVE_PORT, (socket) => {
        if (!socket) {
          void whyNotBound(host, port).then(reject)
          return
        }
        this.#listening = socket
        resolve(uWS.us_socket_local_port(socket))
      })
    })
  }

  /**
   * From now on every reply closes its connection. Clients and load balancers then reconnect to other nodes, and no
   * open connections are cut when the server closes.
   */
  endConnections(): void {
    this.#endsConnections = true
  }

  /** Stops listening. Requests in flight are completed; new requests on open connections get 503. */
  async drain(withinMs: number): Promise<void> {
    this.#draining = true
    this.#endsConnections = true
    if (this.#listening) uWS.us_listen_socket_close(this.#listening)
    this.#listening = undefined
    if (this.#open === 0) return
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      }),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, withinMs)
      }),
    ])
    clearTimeout(timer)
  }

  /** Closes all connections. */
  close(): void {
    this.#options.pipeline.requestLog.flush()
    this.#options.cors.flush()
    void this.#options.pipeline.json.close()
    this.app.close()
  }

  #serve(response: HttpResponse, request: HttpRequest, served: Served, headOnly: boolean): void {
    const { count, handle, needs, parameters } = served
    const exchange = this.#exchange(response, request, needs)
    if (exchange === undefined) return
    exchange.headOnly = headOnly
    if (served.asksForPage) exchange.ownPage = this.#options.cors.ownPage(exchange.headers.origin, pageHeaders(request))
    if (count !== 'never') {
      if (this.#draining) {
        this.#fail(exchange, ShuttingDown({ retryAfter: 5 }))
        exchange.outlive()
        return
      }
      if (count !== 'upload') exchange.gate = this.#gate
      if (count === 'at once' ? !exchange.beginWork() : this.#gate.isFull) {
        this.#options.metrics.refused.inc()
        this.#fail(exchange, Overloaded({ retryAfter: 1 }))
        exchange.outlive()
        return
      }
    }
    const values: string[] = []
    for (let index = 0; index < parameters; index += 1) values.push(request.getParameter(index) ?? '')
    this.#open += 1
    exchange.onOver = this.#requestOver
    try {
      handle(exchange, values)?.catch((error: unknown) => this.#giveUp(exchange, error))
    } catch (error) {
      this.#giveUp(exchange, error)
    }
    exchange.outlive()
  }

  /** The request and its reply; undefined if it was refused because the end of its body is ambiguous. */
  #exchange(response: HttpResponse, request: HttpRequest, needs: HeaderNeeds): HttpExchange | undefined {
    const exchange = new HttpExchange(response, request, needs, this.#bounds, this.#options.trustedProxies)
    exchange.corsHeaders = this.#options.cors.headersFor(exchange.headers.origin, () => hostsOf(request))
    exchange.isLastOnConnection = this.#endsConnections
    const fault = framingFault(request, needs.body)
    if (fault === undefined) return exchange
    this.#fail(exchange, BadRequest({ message: fault }), [], true)
    exchange.outlive()
    return undefined
  }

  #giveUp(exchange: HttpExchange, error: unknown): void {
    this.#options.log.error({ error }, 'a request could not be answered')
    this.#fail(exchange, Overloaded({ retryAfter: 1 }))
  }

  #page(response: HttpResponse, request: HttpRequest, page: Page, headOnly: boolean): void {
    const exchange = this.#exchange(response, request, PAGE)
    if (exchange === undefined) return
    exchange.headOnly = headOnly
    if (this.#mayAsk(exchange)) {
      this.#servePage(exchange, page).catch((error: unknown) => {
        this.#options.log.error({ error, path: page.path }, 'a page could not be served')
        this.#fail(exchange, Overloaded({ retryAfter: 1 }))
      })
    }
    exchange.outlive()
  }

  /** Takes a token of the client's network. Without a token the request is refused. */
  #mayAsk(exchange: HttpExchange): boolean {
    const { allowed, resetSeconds } = this.#bounds.takePage(exchange.remoteAddress)
    if (!allowed) this.#fail(exchange, RateLimited({ retryAfter: Math.max(1, resetSeconds) }))
    return allowed
  }

  async #servePage(exchange: HttpExchange, page: Page): Promise<void> {
    const served = await page.serve()
    const { contentType, status = 200 } = served
    const isCompressed = served.compressed !== undefined && takesGzip(exchange.extra['accept-encoding'] ?? '')
    const { content, headers = {} } = isCompressed ? served.compressed : served
    const known = headers['ETag'] !== undefined && knows(exchange.headers.ifNoneMatch, headers['ETag'])
    const all: [string, string][] = [['Content-Type', contentType], ...Object.entries(headers)]
    exchange.send(known ? 304 : status, all, known ? '' : content)
  }

  #preflight(response: HttpResponse, request: HttpRequest, methods: string, bodies: readonly Header[]): void {
    const exchange = this.#exchange(response, request, PLAIN_GET)
    if (exchange === undefined) return
    const { origin } = exchange.headers
    const isAllowed = exchange.corsHeaders.length > 0
    exchange.corsHeaders = []
    if (origin !== '' && !isAllowed && request.getHeader('access-control-request-method') !== '') {
      this.#fail(exchange, OriginNotAllowed(), [['Allow', methods]])
    } else {
      const granted = isAllowed ? this.#options.cors.preflight(origin, methods) : []
      exchange.send(204, [['Allow', methods], ...bodies, ...granted], '')
    }
    exchange.outlive()
  }

  #refuse(response: HttpResponse, request: HttpRequest, error: () => AppError, headers: readonly Header[]): void {
    const exchange = this.#exchange(response, request, PLAIN_GET)
    if (exchange === undefined) return
    exchange.headOnly = request.getCaseSensitiveMethod() === 'HEAD'
    if (this.#mayAsk(exchange)) this.#fail(exchange, error(), headers)
    exchange.outlive()
  }

  #fail(exchange: HttpExchange, error: AppError, extra: readonly Header[] = [], close = this.#endsConnections): void {
    const id = requestIdOf(exchange)
    const { publicUrl, requestLog } = this.#options.pipeline
    const reply = errorReply(error, exchange.headers.accept, id, publicUrl)
    exchange.send(reply.status, [['X-Request-Id', id], ...extra, ...reply.headers], reply.body, close)
    requestLog.write({
      ...NO_OPERATION,
      status: reply.status,
      requestId: id,
      failure: error,
      aborted: exchange.aborted,
    })
  }
}

type AllowedMethod = Method | 'HEAD'

/** Call it before uWS's handler returns. */
function hostsOf(request: HttpRequest): RequestHosts {
  return { host: request.getHeader('host'), forwarded: allOf(request, 'x-forwarded-host') }
}

/** Call it before uWS's handler returns. */
function pageHeaders(request: HttpRequest): PageHeaders {
  return { ...hostsOf(request), site: request.getHeader('sec-fetch-site'), cookies: allOf(request, 'cookie', '; ') }
}

/** uWS does not report why it could not listen, so Node's own server tries the same and reports the error. */
function whyNotBound(host: string, port: number): Promise<Error> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen({ host, port, exclusive: true }, () => {
      probe.close(() => resolve(new Error(`port ${port} on ${host} could not be opened. Try again`)))
    })
  })
}

/** An operation in the form that the server runs. */
interface Served {
  readonly needs: HeaderNeeds
  readonly parameters: number
  readonly handle: RequestHandler
  readonly count: Count
  /** See `OperationDeclaration.ownPage`. */
  readonly asksForPage: boolean
}

/**
 * When a request counts toward the limit of concurrent requests: at once, when its body has arrived, or never. Uploads
 * have separate limits, and operations that report the server's state are never refused.
 */
type Count = 'at once' | 'with its body' | 'upload' | 'never'

function countOf(op: NamedOperation): Count {
  if (op.alwaysAnswered) return 'never'
  if (op.upload) return 'upload'
  return op.method === 'GET' ? 'at once' : 'with its body'
}

function headersOf(op: NamedOperation): HeaderNeeds {
  const file = returnsFile(op)
  return {
    body: op.method !== 'GET',
    entityTag: op.method === 'GET' && (file || op.etag === true),
    extra: [
      ...(file ? ['range', 'if-range'] : []),
      ...(op.cookie === undefined ? [] : ['cookie']),
      ...(op.signature === undefined ? [] : [op.signature]),
      ...(op.languages ? ['accept-language'] : []),
      ...(op.upload?.ranges ? ['content-range'] : []),
    ],
  }
}

/** The accepted body type: Accept-Post (Linked Data Platform, 7.1; RFC 9725, 4.2), Accept-Patch (RFC 5789, 3.1). */
function acceptedBody({ body, bodyType = 'application/json', method }: NamedOperation): Header[] {
  if (body === undefined || (method !== 'POST' && method !== 'PATCH')) return []
  return [[method === 'POST' ? 'Accept-Post' : 'Accept-Patch', bodyType]]
}

/** HEAD is GET without the body, so it is refused where a GET changes something. */
const takesHead = ({ changes, method }: NamedOperation): boolean => method === 'GET' && changes !== true

function allowHeader(methods: readonly AllowedMethod[]): string {
  return [...methods, 'OPTIONS'].join(', ')
}
