import * as uWS from 'uWebSockets.js'
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import type { AppError } from '../core/error.ts'
import { MethodNotAllowed, Overloaded, RouteNotFound, ShuttingDown } from '../core/errors.ts'
import type { Logger } from '../core/log.ts'
import { returnsFile, type Method, type NamedOperation } from '../core/operation.ts'
import type { Cors } from './cors.ts'
import { errorReply } from './error-reply.ts'
import { HttpExchange } from './exchange.ts'
import type { HttpMetrics } from './metrics.ts'
import { knows } from './entity-tag.ts'
import { PLAIN_GET, type HeaderNeeds } from './request-headers.ts'
import { requestIdOf } from './passage.ts'
import { NO_OPERATION } from './request-log.ts'
import { compileOperation, type PipelineOptions, type RequestHandler } from './pipeline.ts'

/** A page that is no operation: documentation, its script, the API description. */
export interface Page {
  readonly path: string
  readonly serve: () => Promise<PageContent> | PageContent
}

export interface PageContent {
  readonly contentType: string
  readonly content: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export interface ServerOptions {
  readonly operations: readonly NamedOperation[]
  readonly pipeline: PipelineOptions
  readonly pages: readonly Page[]
  readonly metrics: HttpMetrics
  readonly log: Logger
  readonly trustProxy: boolean
  /** Requests answered at the same time; past it the rest is told to come back. */
  readonly mostInFlight: number
  readonly cors: Cors
}

type Header = readonly [string, string]

/** The package's types leave out the options of `listen`. */
const EXCLUSIVE_PORT = (uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number }).LIBUS_LISTEN_EXCLUSIVE_PORT
type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void

const VERBS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const

/** The HTTP front end: uWebSockets.js, every operation, the pages, 404 and 405. */
export class HttpServer {
  readonly app: TemplatedApp
  readonly #options: ServerOptions
  #listening: us_listen_socket | undefined
  #inFlight = 0
  #draining = false
  #whenIdle: (() => void) | undefined
  readonly #requestOver = () => {
    this.#inFlight -= 1
    if (this.#inFlight === 0) this.#whenIdle?.()
  }

  constructor(options: ServerOptions) {
    this.#options = options
    this.app = uWS.App()
    options.metrics.inFlight = () => this.#inFlight
    const methods = new Map<string, Method[]>()
    const accepted = new Map<string, Header[]>()
    for (const op of options.operations) {
      const pattern = op.pattern.replace(/\{(\w+)\}/g, ':$1')
      const parameters = [...op.pattern.matchAll(/\{\w+\}/g)].length
      const handle = compileOperation(op, options.pipeline)
      const needs = headersOf(op)
      this.app[VERBS[op.method]](pattern, (response, request) =>
        this.#serve(response, request, needs, parameters, handle),
      )
      if (op.method === 'GET') {
        this.app.head(pattern, (response, request) => this.#serve(response, request, needs, parameters, handle, true))
      }
      methods.set(pattern, [...(methods.get(pattern) ?? []), op.method])
      accepted.set(pattern, [...(accepted.get(pattern) ?? []), ...acceptedBody(op)])
    }
    for (const page of options.pages) {
      this.app.get(page.path, (response, request) => this.#page(response, request, page, false))
      this.app.head(page.path, (response, request) => this.#page(response, request, page, true))
      methods.set(page.path, [...(methods.get(page.path) ?? []), 'GET'])
    }
    for (const [pattern, allowed] of methods) {
      this.#refuseOtherMethods(pattern, allowed)
      const bodies = accepted.get(pattern) ?? []
      this.app.options(pattern, (response, request) => this.#preflight(response, request, allowHeader(allowed), bodies))
    }
  }

  /**
   * 405 for whatever a path does not take. Method by method, because a route with a parameter that takes the method
   * would otherwise come before this path.
   */
  #refuseOtherMethods(pattern: string, allowed: readonly Method[]): void {
    const refuse = (response: HttpResponse, request: HttpRequest) =>
      this.#refuse(response, request, MethodNotAllowed, [['Allow', allowHeader(allowed)]])
    for (const [method, verb] of Object.entries(VERBS)) {
      if (!allowed.includes(method as Method)) this.app[verb](pattern, refuse)
    }
    if (!allowed.includes('GET')) this.app.head(pattern, refuse)
    this.app.any(pattern, refuse)
  }

  /** Answers everything that no route takes. Called last: sockets add their own routes before. */
  finishRoutes(): void {
    this.app.any('/*', (response, request) => this.#refuse(response, request, RouteNotFound, []))
  }

  /** @returns the port that was bound. @throws Error when it is taken */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      // Exclusive: two servers sharing one port would each get half of the requests.
      const listen = this.app.listen.bind(this.app) as unknown as ListenWithOptions
      listen(host, port, EXCLUSIVE_PORT, (socket) => {
        if (!socket) {
          reject(new Error(`port ${port} on ${host} is taken: set PORT to a free one`))
          return
        }
        this.#listening = socket
        resolve(uWS.us_socket_local_port(socket))
      })
    })
  }

  /** Stops listening; requests under way are answered, new ones on open connections get 503. */
  async drain(withinMs: number): Promise<void> {
    this.#draining = true
    if (this.#listening) uWS.us_listen_socket_close(this.#listening)
    this.#listening = undefined
    if (this.#inFlight === 0) return
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

  /** Closes every connection. */
  close(): void {
    this.app.close()
  }

  #serve(
    response: HttpResponse,
    request: HttpRequest,
    needs: HeaderNeeds,
    parameters: number,
    handle: RequestHandler,
    headOnly = false,
  ): void {
    const exchange = new HttpExchange(response, request, needs, this.#options.trustProxy)
    exchange.headOnly = headOnly
    exchange.corsHeaders = this.#options.cors.headersFor(exchange.headers.origin)
    if (this.#draining) {
      this.#fail(exchange, ShuttingDown({ retryAfter: 5 }))
      return
    }
    if (this.#inFlight >= this.#options.mostInFlight) {
      this.#options.metrics.refused.inc()
      this.#fail(exchange, Overloaded({ retryAfter: 1 }))
      return
    }
    const values: string[] = []
    for (let index = 0; index < parameters; index += 1) values.push(request.getParameter(index) ?? '')
    this.#inFlight += 1
    exchange.onOver = this.#requestOver
    try {
      handle(exchange, values)?.catch((error: unknown) => this.#giveUp(exchange, error))
    } catch (error) {
      this.#giveUp(exchange, error)
    }
    exchange.outlive()
  }

  #giveUp(exchange: HttpExchange, error: unknown): void {
    this.#options.log.error({ error }, 'a request could not be answered')
    this.#fail(exchange, Overloaded({ retryAfter: 1 }))
  }

  #page(response: HttpResponse, request: HttpRequest, page: Page, headOnly: boolean): void {
    const exchange = new HttpExchange(response, request, PLAIN_GET, this.#options.trustProxy)
    exchange.headOnly = headOnly
    exchange.corsHeaders = this.#options.cors.headersFor(exchange.headers.origin)
    this.#servePage(exchange, page).catch((error: unknown) => {
      this.#options.log.error({ error, path: page.path }, 'a page could not be served')
      this.#fail(exchange, Overloaded({ retryAfter: 1 }))
    })
    exchange.outlive()
  }

  async #servePage(exchange: HttpExchange, page: Page): Promise<void> {
    const { contentType, content, headers = {} } = await page.serve()
    const known = headers['ETag'] !== undefined && knows(exchange.headers.ifNoneMatch, headers['ETag'])
    const all: [string, string][] = [['Content-Type', contentType], ...Object.entries(headers)]
    exchange.send(known ? 304 : 200, all, known ? '' : content)
  }

  #preflight(response: HttpResponse, request: HttpRequest, methods: string, bodies: readonly Header[]): void {
    const exchange = new HttpExchange(response, request, PLAIN_GET, this.#options.trustProxy)
    const cors = this.#options.cors.preflight(exchange.headers.origin, methods)
    exchange.send(204, [['Allow', methods], ...bodies, ...cors], '')
  }

  #refuse(response: HttpResponse, request: HttpRequest, error: () => AppError, headers: readonly Header[]): void {
    const exchange = new HttpExchange(response, request, PLAIN_GET, this.#options.trustProxy)
    exchange.corsHeaders = this.#options.cors.headersFor(exchange.headers.origin)
    exchange.headOnly = request.getCaseSensitiveMethod() === 'HEAD'
    this.#fail(exchange, error(), headers)
  }

  #fail(exchange: HttpExchange, error: AppError, extra: readonly Header[] = []): void {
    const id = requestIdOf(exchange)
    const { publicUrl, requestLog } = this.#options.pipeline
    const reply = errorReply(error, exchange.headers.accept, id, publicUrl)
    exchange.send(reply.status, [['X-Request-Id', id], ...extra, ...reply.headers], reply.body, this.#draining)
    requestLog.write({
      ...NO_OPERATION,
      status: reply.status,
      requestId: id,
      failure: error,
      aborted: exchange.aborted,
    })
  }
}

function headersOf(op: NamedOperation): HeaderNeeds {
  const file = returnsFile(op)
  return {
    body: op.method !== 'GET',
    entityTag: op.method === 'GET' && (file || op.etag === true),
    extra: [...(file ? ['range', 'if-range'] : []), ...(op.upload?.ranges ? ['content-range'] : [])],
  }
}

/** Of which type a body has to be: Accept-Post (Linked Data Platform, 7.1; RFC 9725, 4.2), Accept-Patch (RFC 5789, 3.1). */
function acceptedBody({ body, bodyType = 'application/json', method }: NamedOperation): Header[] {
  if (body === undefined || (method !== 'POST' && method !== 'PATCH')) return []
  return [[method === 'POST' ? 'Accept-Post' : 'Accept-Patch', bodyType]]
}

function allowHeader(methods: readonly Method[]): string {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(', ')
}
