import { BadRequest, InternalError, RouteNotFound } from '../core/errors.ts'
import type { NamedOperation, SocketMessage } from '../core/operation.ts'
import { isTooDeep } from '../core/validate.ts'
import type { CallReply, SocketCalls, SocketClient } from '../core/socket-calls.ts'
import { errorReply, publicError } from './error-reply.ts'
import { requestIdOf } from './request-state.ts'
import { NO_OPERATION } from './request-log.ts'
import { compileOperation, type PipelineOptions, type RequestHandler } from './pipeline.ts'
import { SocketExchange, type CallParts } from './socket-exchange.ts'

interface Callable {
  readonly op: NamedOperation
  readonly pathNames: readonly string[]
  readonly queryNames: ReadonlySet<string>
  readonly handle: RequestHandler
}

type Fields = Readonly<Record<string, unknown>>

const NO_PARTS: CallParts = { query: {}, body: undefined, idempotencyKey: '', ifMatch: '', requestId: '' }

/**
 * Passes calls over a socket into the pipeline. They use the same handler as REST: the message provides what REST has
 * in its URL, headers and body. So credentials, limits, tenancy, idempotency, turns, errors and the log are the same.
 */
export class PipelineCalls implements SocketCalls {
  readonly #options: PipelineOptions
  readonly #callable = new Map<string, Callable>()
  readonly #messages = new Map<SocketMessage, Callable>()

  /** @param operations all operations; those that declare `socket` can be called */
  constructor(operations: readonly NamedOperation[], options: PipelineOptions) {
    this.#options = options
    for (const op of operations) {
      if (op.socket === undefined) continue
      const callable = {
        op,
        pathNames: [...op.pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string),
        queryNames: new Set(Object.keys((op.query as { properties?: object } | undefined)?.properties ?? {})),
        handle: compileOperation(op, options),
      }
      this.#callable.set(op.name, callable)
      if (op.socket !== true) this.#messages.set(op.socket, callable)
    }
  }

  async call(message: unknown, client: SocketClient): Promise<CallReply> {
    if (!isFields(message))
      return this.refuse(BadRequest({ message: 'A call must be an object with the field `operation`.' }), client)
    if (isTooDeep(message)) return this.refuse(BadRequest({ message: TOO_DEEP }), client)
    const { operation, path = {}, query = {}, body, idempotencyKey = '', ifMatch = '', requestId = '' } = message
    const texts = { idempotencyKey, ifMatch, requestId }
    const wrong =
      Object.keys(message).find((name) => !KNOWN.has(name)) ??
      Object.entries(texts).find(([, value]) => typeof value !== 'string')?.[0] ??
      Object.entries({ path, query }).find(([, value]) => !isFields(value))?.[0]
    if (wrong !== undefined) {
      return this.refuse(BadRequest({ message: `The field ${wrong} of the call is not valid.` }), client)
    }
    const callable = typeof operation === 'string' ? this.#callable.get(operation) : undefined
    if (callable === undefined) {
      return this.refuse(RouteNotFound({ message: 'No operation with this name can be called over a socket.' }), client)
    }
    return run(
      callable,
      path as Fields,
      { query: query as Fields, body, ...(texts as Record<keyof typeof texts, string>) },
      client,
    )
  }

  async named(message: SocketMessage, fields: unknown, client: SocketClient): Promise<CallReply> {
    const callable = this.#messages.get(message)
    if (callable === undefined) return this.refuse(RouteNotFound(), client)
    if (!isFields(fields))
      return this.refuse(BadRequest({ message: `The data of ${message} must be an object.` }), client)
    if (isTooDeep(fields)) return this.refuse(BadRequest({ message: TOO_DEEP }), client)
    const { op, pathNames, queryNames } = callable
    const rest = Object.entries(fields).filter(([name]) => !pathNames.includes(name))
    // Unknown fields go to the part whose validation reports them by name.
    const inBody = op.body === undefined ? [] : rest.filter(([name]) => !queryNames.has(name))
    const query = Object.fromEntries(op.body === undefined ? rest : rest.filter(([name]) => queryNames.has(name)))
    const body = op.body === undefined ? undefined : Object.fromEntries(inBody)
    return run(callable, fields, { ...NO_PARTS, query, body }, client)
  }

  refuse(error: unknown, client: SocketClient): CallReply {
    const exchange = new SocketExchange(NO_PARTS, client)
    const requestId = requestIdOf(exchange)
    const failure = publicError(error)
    const { status, headers, body } = errorReply(failure, '', requestId, this.#options.publicUrl)
    exchange.send(status, [['X-Request-Id', requestId], ...headers], body)
    this.#options.requestLog.write({ ...NO_OPERATION, status, requestId, failure, aborted: false })
    return replyOf(exchange)
  }
}

/** Such a message could not be written as JSON again, which is what the pipeline reads. */
const TOO_DEEP = 'The message is nested too deeply.'

const KNOWN = new Set(['operation', 'path', 'query', 'body', 'idempotencyKey', 'ifMatch', 'requestId'])

async function run(callable: Callable, path: Fields, parts: CallParts, client: SocketClient): Promise<CallReply> {
  const exchange = new SocketExchange(parts, client)
  const values = callable.pathNames.map((name) => {
    const value = path[name]
    return typeof value === 'string' ? encodeURIComponent(value.toWellFormed()) : ''
  })
  await callable.handle(exchange, values)
  return replyOf(exchange)
}

function replyOf({ reply }: SocketExchange): CallReply {
  return reply ?? { status: InternalError.status, headers: {} }
}

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !ArrayBuffer.isView(value)
}
