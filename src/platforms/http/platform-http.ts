import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { OutgoingError, type Outgoing, type OutgoingReply, type StreamBody } from '../../fetch/outgoing.ts'
import { retryAfterOf } from '../../fetch/retry-after.ts'
import { OPEN_RULES } from '../../fetch/target.ts'
import { CALLS_PAUSED, PlatformError, type ErrorKind, type PlatformErrorOptions } from '../error-kinds.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { redactedUrl, secretsOf, withoutSecrets } from './redaction.ts'
import { parseForeignJson } from '../../tools/clean-text.ts'

const TIMEOUT_MS = 15_000
const MAX_BYTES = 2_000_000
/** How much of an error response is stored. */
const MAX_DETAIL = 500
/** Characters of a URL, and of the platform's code and id of a request, in the log of calls. */
const MAX_URL = 300
const MAX_CODE = 100

export interface PlatformRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Parameters added to the URL. Undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** At most one of the bodies. */
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string | undefined>>
  readonly body?: Uint8Array | StreamBody
  readonly timeoutMs?: number
  readonly maxBytes?: number
  readonly signal?: AbortSignal | undefined
  /** The host was entered by a user (an instance, a site): only public addresses are allowed. */
  readonly userHost?: boolean
  /** Secrets that the name of their header, parameter or field does not reveal, such as those in a path. */
  readonly secrets?: readonly string[]
  /** Error statuses that the caller reads itself, so that they are not thrown. */
  readonly expect?: readonly number[]
  /** The name of the target for the breaker and the log, if the host is not enough (uploads to object storage). */
  readonly circuit?: string
}

export interface PlatformReply {
  /** The method and path of the request, such as `POST /2/tweets`, for errors and budgets that depend on it. */
  readonly target?: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The body as JSON; undefined when it is not JSON. */
  readonly json: unknown
}

/** One call as an attempt stores it: without secrets, and of bounded size. */
export interface LoggedCall {
  /** When it began. */
  readonly at: string
  readonly method: string
  readonly url: string
  /** Undefined when there was no reply. */
  readonly status?: number
  readonly ms: number
  /** Size of the reply. */
  readonly bytes?: number
  /** The platform's id of the request, for its support. */
  readonly platformRequestId?: string
  /** The platform's own code of the error. Without a reply: `timeout`, `unreachable`, `refused`, … */
  readonly platformCode?: string
  readonly error?: string
}

/** The rest of a budget, as the platform reports it. */
export interface BudgetReport {
  /** The platform's name of the bucket, such as `app` or the route. */
  readonly name: string
  readonly limit?: number
  readonly remaining: number
  /** Milliseconds since the epoch. */
  readonly resetsAt: number
  /**
   * What the budget counts, if it counts posts: `posts` or `replies` of the account, or `app_posts` of all accounts of
   * this server.
   */
  readonly counts?: 'posts' | 'replies' | 'app_posts'
}

/** How a platform reports errors and budgets. Each platform's folder has one. */
export interface ReplyReader {
  /**
   * The error of a reply, or undefined if the reply is a success. Some platforms send errors with status 200.
   * @param now milliseconds since the epoch, for platforms that name the time when a limit resets
   */
  readonly errorOf: (
    reply: PlatformReply,
    now?: number,
  ) => ({ readonly kind: ErrorKind } & PlatformErrorOptions) | undefined
  readonly budgetsOf?: (reply: PlatformReply, now: number) => readonly BudgetReport[]
}

export interface PlatformHttpOptions {
  readonly platform: { readonly key: string; readonly title: string }
  readonly clock: Clock
  readonly outgoing: Outgoing
  readonly breaker: CircuitBreaker
  readonly reader: ReplyReader
  readonly onCall?: (call: LoggedCall) => void
  readonly onBudget?: (report: BudgetReport) => void
  /** See `OutgoingRequest.guard`. A call that it stops had no effect. */
  readonly guard?: () => void
}

const REQUEST_ID_HEADERS = ['x-request-id', 'x-fb-trace-id', 'x-fb-request-id', 'x-li-uuid', 'x-tt-logid', 'cf-ray']

/**
 * The only way from a platform's folder to the network. Adds timeouts, bounds, guarded addresses, a redacted log, rate
 * budgets, and a circuit breaker for each platform and host.
 */
export class PlatformHttp {
  readonly #options: PlatformHttpOptions

  constructor(options: PlatformHttpOptions) {
    this.#options = options
  }

  /** The same client with another log, for one attempt. */
  logged(onCall: (call: LoggedCall) => void): PlatformHttp {
    return new PlatformHttp({ ...this.#options, onCall })
  }

  /** @throws PlatformError */
  async send(request: PlatformRequest): Promise<PlatformReply> {
    try {
      return await this.#send(request)
    } finally {
      // A call that was not made, or has failed, has not read its file to the end. It would stay open.
      if (request.body !== undefined && 'stream' in request.body) request.body.stream.destroy()
    }
  }

  async #send(request: PlatformRequest): Promise<PlatformReply> {
    const { breaker, clock, platform } = this.#options
    const url = urlOf(request)
    const circuit = `${platform.key} ${request.circuit ?? URL.parse(url)?.host ?? ''}`
    const wait = breaker.enter(circuit)
    if (wait > 0) {
      throw new PlatformError('network', platform.title, {
        code: CALLS_PAUSED,
        detail: `${platform.title} does not respond; calls are paused`,
        retryAfter: Math.ceil(wait / 1_000),
        mayHaveHappened: false,
      })
    }
    const secrets = secretsOf(url, request)
    const started = { at: new Date(clock.now()).toISOString(), ms: clock.monotonic() }
    const log = (part: Pick<LoggedCall, 'status' | 'bytes' | 'platformRequestId' | 'platformCode' | 'error'>) =>
      this.#options.onCall?.({
        at: started.at,
        method: request.method ?? 'GET',
        url: withoutSecrets(redactedUrl(url), secrets).slice(0, MAX_URL),
        ms: Math.round(clock.monotonic() - started.ms),
        ...part,
      })
    let reply: OutgoingReply
    try {
      reply = await this.#options.outgoing.send(...this.#outgoing(url, request))
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      // A refused address or a cancelled call is no evidence about the host.
      breaker.report(circuit, error.fault === 'refused' || error.fault === 'cancelled' ? undefined : false)
      const detail = withoutSecrets(error.message, secrets)
      log({ platformCode: error.fault, error: `network: ${detail}`.slice(0, MAX_DETAIL) })
      throw this.#unreachable(error, detail)
    }
    breaker.report(circuit, reply.status < 500)
    const read = readOf(reply, `${request.method ?? 'GET'} ${URL.parse(url)?.pathname ?? ''}`, secrets)
    const fault = request.expect?.includes(reply.status) === true ? undefined : this.#faultOf(read, secrets)
    const requestId = REQUEST_ID_HEADERS.map((name) => reply.headers[name]).find((id) => typeof id === 'string')
    log({
      status: reply.status,
      bytes: reply.bytes.length,
      ...(typeof requestId === 'string' && { platformRequestId: requestId.slice(0, MAX_CODE) }),
      ...(fault?.code !== undefined && { platformCode: fault.code.slice(0, MAX_CODE) }),
      ...(fault !== undefined && { error: `${fault.kind}: ${fault.detail ?? ''}`.slice(0, MAX_DETAIL) }),
    })
    for (const report of this.#options.reader.budgetsOf?.(read, clock.now()) ?? []) this.#options.onBudget?.(report)
    if (fault !== undefined) throw fault
    return read
  }

  #outgoing(url: string, request: PlatformRequest) {
    const { body, headers } = bodyOf(request)
    return [
      {
        method: request.method ?? 'GET',
        url,
        headers: { ...headers, ...request.headers },
        body,
        maxBytes: request.maxBytes ?? MAX_BYTES,
        timeoutMs: request.timeoutMs ?? TIMEOUT_MS,
        signal: request.signal,
        guard: this.#options.guard,
      },
      // Hosts that the operator has configured may be private. Hosts of users follow the rules of the server.
      request.userHost === true ? undefined : OPEN_RULES,
    ] as const
  }

  #unreachable(error: OutgoingError, detail: string): PlatformError {
    const { platform } = this.#options
    if (error.fault === 'refused') {
      return new PlatformError('validation', platform.title, {
        code: 'address_refused',
        detail,
        mayHaveHappened: false,
        cause: error,
      })
    }
    return new PlatformError('network', platform.title, {
      code: error.fault,
      detail,
      mayHaveHappened: error.sent,
      cause: error,
    })
  }

  #faultOf(reply: PlatformReply, secrets: readonly string[]): PlatformError | undefined {
    const { clock, platform, reader } = this.#options
    const found = reader.errorOf(reply, clock.now())
    if (found === undefined) return undefined
    const { kind, ...options } = found
    const retryAfter = options.retryAfter ?? retryAfterOf(reply.headers, clock.now())
    const detail = withoutSecrets(options.detail ?? reply.bytes.toString('utf8'), secrets)
    return new PlatformError(kind, platform.title, {
      ...options,
      code: options.code === undefined ? undefined : withoutSecrets(options.code, secrets),
      httpStatus: reply.status,
      detail: detail.slice(0, MAX_DETAIL),
      ...(retryAfter !== undefined && { retryAfter }),
      // A status below 500 shows that the host works: the platform has refused the call.
      mayHaveHappened: options.mayHaveHappened ?? reply.status >= 500,
    })
  }
}

/** The kind of an error by its status alone, for replies that the platform's own codes do not explain. */
export function kindOfStatus(status: number): ErrorKind {
  if (status === 401) return 'auth_expired'
  if (status === 402) return 'billing'
  if (status === 403) return 'scope_missing'
  if (status === 429) return 'rate_limited'
  if (status >= 500) return 'server_error'
  return status === 404 || status === 405 || status === 501 ? 'unsupported' : 'validation'
}

function urlOf({ query = {}, url }: PlatformRequest): string {
  const added = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  )
  if (added.length === 0) return url
  return `${url}${url.includes('?') ? '&' : '?'}${added.join('&')}`
}

function bodyOf({ body, form, json }: PlatformRequest) {
  if (json !== undefined) return { body: JSON.stringify(json), headers: { 'Content-Type': 'application/json' } }
  if (form === undefined) return { body, headers: {} }
  const fields = Object.entries(form).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  )
  return {
    body: new URLSearchParams(fields).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  }
}

/**
 * A reply as the platform's folder reads it. Errors often repeat the request, so secrets are removed from them first: no
 * message that is made of one can contain a token.
 */
function readOf(reply: OutgoingReply, target: string, secrets: readonly string[]): PlatformReply {
  const text = reply.status < 400 || secrets.length === 0 ? '' : reply.bytes.toString('utf8')
  const safe = withoutSecrets(text, secrets)
  const bytes = safe === text ? reply.bytes : Buffer.from(safe)
  return { ...reply, target, bytes, json: jsonOf({ bytes }) }
}

function jsonOf({ bytes }: Pick<OutgoingReply, 'bytes'>): unknown {
  try {
    return parseForeignJson(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
