import { isUtf8 } from 'node:buffer'
import type { AppError, ErrorDefinition } from '../core/error.ts'
import {
  BadRequest,
  CredentialExpired,
  DatabaseUnavailable,
  DeadlineExceeded,
  Forbidden,
  IdempotencyMismatch,
  IdempotencyRunning,
  InternalError,
  InvalidCredential,
  NotFound,
  OutcomeUnknown,
  Overloaded,
  PayloadTooLarge,
  RateLimited,
  ServiceDisabled,
  ShuttingDown,
  Unauthorized,
  UnsupportedMediaType,
  ValidationFailed,
} from '../core/errors.ts'
import type { Caller, Member } from '../core/caller.ts'
import type { ContextFactory, RequestData } from '../core/context.ts'
import { requestId as newRequestId } from '../core/id.ts'
import { DEFAULT_BODY_LIMIT, limitClassOf, RATE_LIMITS } from '../core/limits.ts'
import type { NamedOperation, WorkspaceSource } from '../core/operation.ts'
import type { Authenticator, Memberships, Owners, RateDecision, RateLimiter, Switches } from '../core/ports.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { Scope } from '../core/scope.ts'
import { queryReader, validator, type Validator } from '../core/validate.ts'
import type { Turns } from '../turns/turn-runner.ts'
import type { Exchange } from './exchange.ts'
import { errorReply, publicError } from './error-reply.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import { ReplyChecker } from './reply-checker.ts'
import type { RequestLog } from './request-log.ts'
import { serializers } from './serialize.ts'

/** What the pipeline is built from. */
export interface PipelineOptions {
  readonly authenticator: Authenticator
  readonly memberships: Memberships
  readonly owners: Owners
  readonly limiter: RateLimiter
  readonly switches: Switches
  readonly idempotency: IdempotencyKeys
  readonly turns: Turns
  readonly context: ContextFactory
  readonly requestLog: RequestLog
  readonly publicUrl: string
  /** Check every reply and error against the declaration. */
  readonly checkReplies: boolean
}

/** Domains that are never switched off: without them nobody could switch anything on again. */
const ALWAYS_ON = new Set(['auth', 'services', 'health'])

/** Handles requests of one operation. Path parameters come raw, in the order of the pattern. */
export type RequestHandler = (exchange: Exchange, parameters: readonly string[]) => Promise<void>

interface Compiled {
  readonly op: NamedOperation
  readonly pathNames: readonly string[]
  readonly checkPath: Validator | undefined
  readonly readQuery: (text: string) => Record<string, unknown>
  readonly checkQuery: Validator | undefined
  readonly checkBody: Validator | undefined
  readonly hasBody: boolean
  readonly write: ReadonlyMap<number, (body: unknown) => string>
  readonly checker: ReplyChecker | undefined
  readonly rateHeader: string
}

/** What is known of a request as it passes through; also what its log line tells. */
interface Passage {
  readonly exchange: Exchange
  readonly requestId: string
  readonly startedAt: number
  caller: Caller | undefined
  workspaceId: string | undefined
  rate: RateDecision | undefined
  replayed: boolean
}

/** The request as its handler, or the turn that runs it, knows it. */
class Request implements RequestData {
  readonly path: unknown
  readonly query: unknown
  readonly body: unknown
  readonly caller: Caller
  readonly member: Member
  readonly workspaceId: string | undefined
  readonly requestId: string
  readonly userAgent: string
  readonly ifMatch: string | undefined
  readonly #exchange: Exchange

  constructor(passage: Passage, input: Input, member: Member | undefined) {
    const { exchange } = passage
    this.path = input.path
    this.query = input.query
    this.body = input.body
    this.caller = passage.caller as Caller
    this.member = member as Member
    this.workspaceId = passage.workspaceId
    this.requestId = passage.requestId
    this.userAgent = exchange.headers.userAgent.slice(0, 300)
    this.ifMatch = entityTag(exchange.headers.ifMatch)
    this.#exchange = exchange
  }

  get remoteAddress(): string {
    return this.#exchange.remoteAddress
  }
}

interface Input {
  readonly path: unknown
  readonly query: unknown
  readonly body: unknown
}

/** The errors that the pipeline itself can answer for an operation: what OpenAPI lists and the tests expect. */
export function pipelineErrors(op: NamedOperation): ErrorDefinition[] {
  const errors: ErrorDefinition[] = [
    BadRequest,
    ValidationFailed,
    InternalError,
    Overloaded,
    ShuttingDown,
    DatabaseUnavailable,
  ]
  errors.push(InvalidCredential, CredentialExpired)
  if (op.access !== 'public') errors.push(Unauthorized)
  if (op.access === 'admin' || op.access.includes(':')) errors.push(Forbidden)
  if (op.workspace !== undefined || op.path !== undefined) errors.push(NotFound)
  if (op.method !== 'GET') errors.push(PayloadTooLarge)
  if (op.body !== undefined) errors.push(UnsupportedMediaType)
  if (op.method === 'POST') errors.push(IdempotencyRunning, IdempotencyMismatch)
  if (limitClassOf(op) !== 'none') errors.push(RateLimited)
  if (!ALWAYS_ON.has(op.domain)) errors.push(ServiceDisabled)
  if (op.turn) errors.push(DeadlineExceeded, OutcomeUnknown)
  return errors
}

/**
 * Turns a declaration into a request handler. The order of checks is fixed, and tested:
 * 404 and 405 (server) → 413, 415 → 401 → 429 → 503 switched off → 400 → tenant 404 → 403 → idempotency replay →
 * handler, with its 402 and 409. A replay comes before 402, so that repeating a request that was answered is answered
 * the same even when it used up the limit.
 */
export function compileOperation(op: NamedOperation, options: PipelineOptions): RequestHandler {
  const compiled = compile(op, options)
  return async (exchange, parameters) => {
    const passage: Passage = {
      exchange,
      requestId: requestIdOf(exchange),
      startedAt: performance.now(),
      caller: undefined,
      workspaceId: undefined,
      rate: undefined,
      replayed: false,
    }
    let status: number
    let failure: AppError | undefined
    try {
      const reply = await answer(compiled, options, passage, parameters)
      status = sendReply(compiled, passage, reply)
    } catch (error) {
      failure = declared(compiled, publicError(error))
      status = sendError(compiled, options, passage, failure)
    }
    options.requestLog.write({
      op: op.name,
      status,
      ms: performance.now() - passage.startedAt,
      requestId: passage.requestId,
      userId: passage.caller?.userId,
      via: passage.caller?.via,
      workspaceId: passage.workspaceId,
      replayed: passage.replayed,
      failure,
      aborted: exchange.aborted,
    })
  }
}

/** The id that the caller gave the request, when it is a sane one, or a new one. */
export function requestIdOf(exchange: Exchange): string {
  const given = exchange.headers.requestId
  return given !== '' && /^[\w-]{1,128}$/.test(given) ? given : newRequestId()
}

/** The error itself, or `internal_error` for one that the operation does not declare, where replies are checked. */
function declared(compiled: Compiled, failure: AppError): AppError {
  try {
    compiled.checker?.checkError(failure)
    return failure
  } catch (error) {
    return publicError(error)
  }
}

function compile(op: NamedOperation, options: PipelineOptions): Compiled {
  const policy = RATE_LIMITS[limitClassOf(op) as keyof typeof RATE_LIMITS]
  return {
    op,
    pathNames: [...op.pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string),
    checkPath: op.path && validator(op.path, '/path'),
    readQuery: queryReader(op.query ?? { properties: {} }),
    checkQuery: op.query && validator(op.query, '/query'),
    checkBody: op.body && validator(op.body, '/body'),
    hasBody: op.method !== 'GET',
    write: serializers(op),
    checker: options.checkReplies ? new ReplyChecker(op, pipelineErrors(op)) : undefined,
    rateHeader: policy ? `"${limitClassOf(op)}";q=${policy.burst};w=${policy.windowSeconds}` : '',
  }
}

async function answer(
  compiled: Compiled,
  options: PipelineOptions,
  passage: Passage,
  parameters: readonly string[],
): Promise<Reply> {
  const { op } = compiled
  const { exchange } = passage
  // 413, 415
  const bytes = compiled.hasBody ? await readBody(compiled, exchange) : NO_BODY
  // 401
  const caller = identify(op, options.authenticator, exchange)
  passage.caller = caller instanceof Promise ? await caller : caller
  // 429
  await takeToken(op, options.limiter, passage)
  // 503
  if (!ALWAYS_ON.has(op.domain) && !options.switches.isOn(op.domain)) {
    throw ServiceDisabled({ message: `The service ${op.domain} is switched off at the moment.`, retryAfter: 30 })
  }
  // 400
  const text = decode(bytes)
  const data = readInput(compiled, passage, parameters, text)
  // tenant 404, 403
  const member = await admit(op, options, passage, data)
  const context = new Request(passage, data, member)
  // idempotency replay, handler
  const key = exchange.headers.idempotencyKey
  if (key === '' || op.method !== 'POST') return run(compiled, options, context)
  return runOnce(compiled, options, passage, context, key, text)
}

function run(compiled: Compiled, options: PipelineOptions, context: RequestData): Promise<Reply> {
  const { op } = compiled
  if (!op.turn) return op.handle(options.context(context))
  return options.turns.operation({
    kind: 'operation',
    operation: op.name,
    audited: op.audit !== false,
    context,
  })
}

async function runOnce(
  compiled: Compiled,
  options: PipelineOptions,
  passage: Passage,
  context: RequestData,
  key: string,
  text: string,
): Promise<Reply> {
  const { op } = compiled
  const principal = passage.caller?.userId ?? `address:${context.remoteAddress}`
  const request = `${op.name}\n${JSON.stringify(context.path)}\n${JSON.stringify(context.query)}\n${text}`
  const claimed = await options.idempotency.claim(principal, op.name, key, request, op.turn === true)
  if ('replay' in claimed) {
    passage.replayed = true
    return claimed.replay
  }
  const { claim, release } = claimed
  try {
    if (!op.turn) {
      const reply = await op.handle(options.context(context))
      await options.idempotency.keep(op.name, claim, reply)
      return reply
    }
    const payload = { kind: 'operation' as const, operation: op.name, audited: op.audit !== false, context }
    return await options.turns.operation({ ...payload, idempotency: claim })
  } catch (error) {
    if (!op.turn) await options.idempotency.giveUp(op.name, claim)
    const kept = await options.idempotency.afterConflict(op.name, claim, error)
    if (kept === undefined) throw error
    passage.replayed = true
    return kept
  } finally {
    release()
  }
}

const NO_BODY = Buffer.alloc(0)

async function readBody(compiled: Compiled, exchange: Exchange): Promise<Buffer> {
  const { op } = compiled
  const { contentType } = exchange.headers
  if (op.body !== undefined && contentType !== '' && !/^application\/json\s*(;|$)/i.test(contentType)) {
    throw UnsupportedMediaType({ message: 'Send the body as application/json.' })
  }
  const bytes = await exchange.body(op.body === undefined ? 1_000 : (op.bodyLimit ?? DEFAULT_BODY_LIMIT))
  if (op.body !== undefined && bytes.length > 0 && contentType === '') {
    throw UnsupportedMediaType({ message: 'Send Content-Type: application/json.' })
  }
  return bytes
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw BadRequest({ message: 'The body is not valid UTF-8.' })
  return bytes.toString('utf8')
}

function identify(
  op: NamedOperation,
  authenticator: Authenticator,
  exchange: Exchange,
): Caller | undefined | Promise<Caller> {
  const { authorization, apiKey } = exchange.headers
  if (authorization !== '') {
    const match = /^Bearer +([\w.~+/=-]+)$/i.exec(authorization)
    if (match?.[1]) return authenticator.authenticate({ kind: 'token', token: match[1] })
    throw InvalidCredential({ message: 'Authorization must be `Bearer <access token>`.' })
  }
  if (apiKey !== '') return authenticator.authenticate({ kind: 'api_key', key: apiKey })
  if (op.access !== 'public') throw Unauthorized()
  return undefined
}

async function takeToken(op: NamedOperation, limiter: RateLimiter, passage: Passage): Promise<void> {
  const limit = limitClassOf(op)
  if (limit === 'none') return
  const perCaller = RATE_LIMITS[limit].per === 'caller' ? passage.caller?.userId : undefined
  const taken = limiter.take(limit, perCaller ?? passage.exchange.remoteAddress)
  const rate = taken instanceof Promise ? await taken : taken
  passage.rate = rate
  if (!rate.allowed) {
    throw RateLimited({
      retryAfter: Math.max(1, rate.resetSeconds),
      message: `More than ${rate.limit} ${limit} requests in ${rate.windowSeconds} seconds. Wait ${Math.max(1, rate.resetSeconds)} s.`,
    })
  }
}

function readInput(compiled: Compiled, passage: Passage, parameters: readonly string[], text: string): Input {
  const errors: NonNullable<AppError['errors']>[number][] = []
  const path = compiled.checkPath ? readPath(compiled, compiled.checkPath, parameters) : {}
  let query: unknown = {}
  const { query: queryText } = passage.exchange
  if (compiled.checkQuery) {
    const checked = compiled.checkQuery(compiled.readQuery(queryText))
    if (checked.ok) query = checked.value
    else errors.push(...checked.errors)
  } else if (queryText !== '') {
    for (const name of new URLSearchParams(queryText).keys()) {
      errors.push({ path: `/query/${name}`, code: 'unknown_field', message: 'is not a parameter of this operation' })
    }
  }
  let body: unknown
  if (compiled.checkBody) {
    if (text === '' && compiled.op.bodyOptional) body = undefined
    else {
      const checked = compiled.checkBody(parseJson(text))
      if (checked.ok) body = checked.value
      else errors.push(...checked.errors)
    }
  }
  if (errors.length > 0) {
    const [first] = errors
    const where = first?.path.replace(/^\/(body|query)\/?/, '').replaceAll('/', '.') || 'The body'
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
    throw ValidationFailed({ message: `${where} ${first?.message ?? 'is not valid'}${more}.`, errors })
  }
  return { path, query, body }
}

/** A path whose parameters cannot be ids names nothing. */
function readPath(compiled: Compiled, check: Validator, parameters: readonly string[]): unknown {
  const path: Record<string, string> = {}
  compiled.pathNames.forEach((name, index) => {
    try {
      path[name] = decodeURIComponent(parameters[index] ?? '')
    } catch {
      throw NotFound()
    }
  })
  const checked = check(path)
  if (!checked.ok) throw NotFound()
  return checked.value
}

function parseJson(text: string): unknown {
  if (text === '') {
    throw ValidationFailed({
      message: 'The body is required.',
      errors: [{ path: '/body', code: 'required', message: 'is required' }],
    })
  }
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw BadRequest({ message: `The body is not valid JSON: ${(error as Error).message}.` })
  }
}

async function admit(
  op: NamedOperation,
  options: PipelineOptions,
  passage: Passage,
  data: Input,
): Promise<Member | undefined> {
  const { caller } = passage
  if (op.access === 'admin' && !caller?.isAdmin) {
    throw Forbidden({ message: 'Only a platform administrator may do this.' })
  }
  if (op.workspace === undefined) return undefined
  const found = findWorkspace(op.workspace, options.owners, data)
  const workspaceId = found instanceof Promise ? await found : found
  if (workspaceId === undefined) throw NotFound()
  passage.workspaceId = workspaceId
  if (!op.access.includes(':')) return undefined
  const membership = options.memberships.find(workspaceId, caller?.userId ?? '')
  const member = membership instanceof Promise ? await membership : membership
  if (member === undefined) throw NotFound()
  if (!member.scopes.has(op.access as Scope)) {
    throw Forbidden({ message: `Your role ${member.role} lacks the scope ${op.access} in this workspace.` })
  }
  return member
}

function findWorkspace(
  source: WorkspaceSource,
  owners: Owners,
  data: Input,
): string | undefined | Promise<string | undefined> {
  if (source.in === 'owner' || source.in === 'lookup') {
    const value = (data.path as Record<string, string>)[source.field] ?? ''
    return source.in === 'owner' ? owners.workspaceOf(source.table, value) : owners.lookup(source.name, value)
  }
  return (data[source.in] as Record<string, string | undefined> | undefined)?.[source.field]
}

/** `"3"`, `W/"3"` or `*` of If-Match: the bare tag; undefined asks for nothing. */
function entityTag(header: string): string | undefined {
  if (header === '' || header === '*') return undefined
  return /^(?:W\/)?"(.*)"$/.exec(header.trim())?.[1] ?? header.trim()
}

function sendReply(compiled: Compiled, passage: Passage, reply: Reply): number {
  const { op } = compiled
  compiled.checker?.checkReply(reply)
  const headers = commonHeaders(compiled, passage)
  if (passage.replayed) headers.push(['Idempotent-Replayed', 'true'])
  for (const entry of Object.entries(reply.headers ?? {})) headers.push(entry)
  if (op.etag) {
    const version = (reply.body as { data?: { version?: number } } | undefined)?.data?.version
    const tag = `"${version}"`
    headers.push(['ETag', tag])
    if (op.method === 'GET' && knows(passage.exchange.headers.ifNoneMatch, tag)) {
      passage.exchange.send(304, headers, '')
      return 304
    }
  }
  if (reply.body === undefined) passage.exchange.send(reply.status, headers, '')
  else if (reply.body instanceof RawBody) {
    headers.push(['Content-Type', reply.body.contentType])
    passage.exchange.send(reply.status, headers, reply.body.content)
  } else {
    const write = compiled.write.get(reply.status)
    if (write === undefined) throw new Error(`${op.name} answered ${reply.status}, which it does not declare`)
    headers.push(['Content-Type', 'application/json'])
    passage.exchange.send(reply.status, headers, write(reply.body))
  }
  return reply.status
}

/** Whether If-None-Match has the tag: `*`, or a list compared weakly (RFC 9110, section 13.1.2). */
export function knows(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === '') return false
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === tag)
}

function sendError(compiled: Compiled, options: PipelineOptions, passage: Passage, error: AppError): number {
  const { exchange } = passage
  const reply = errorReply(error, exchange.headers.accept, passage.requestId, options.publicUrl)
  exchange.send(reply.status, [...commonHeaders(compiled, passage), ...reply.headers], reply.body)
  return reply.status
}

function commonHeaders(compiled: Compiled, passage: Passage): [string, string][] {
  const headers: [string, string][] = [['X-Request-Id', passage.requestId]]
  if (passage.rate) {
    headers.push(['RateLimit-Policy', compiled.rateHeader])
    headers.push([
      'RateLimit',
      `"${limitClassOf(compiled.op)}";r=${passage.rate.remaining};t=${passage.rate.resetSeconds}`,
    ])
  }
  return headers
}
