import type { Caller } from '../core/caller.ts'
import { networkOf } from '../core/client-address.ts'
import type { AppError } from '../core/error.ts'
import { ServiceDisabled } from '../core/errors.ts'
import type { ContextFactory, RequestData } from '../core/context.ts'
import { limitClassOf, RATE_LIMITS } from '../core/limits.ts'
import type { NamedOperation } from '../core/operation.ts'
import type { Authenticator, Memberships, Owners, RateLimiter, Switches, Tickets } from '../core/ports.ts'
import { refuseCredential } from '../core/refused-credential.ts'
import type { Reply } from '../core/reply.ts'
import type { SignedLinks } from '../core/signed-links.ts'
import type { Turns } from '../turns/turn-runner.ts'
import { admit, bringsLink, followLink, identify, takeToken } from './admission.ts'
import { sendError, sendReply, type Answering } from './answer.ts'
import type { BodyStream } from './body-stream.ts'
import { digested, type DigestedUpload } from './content-digest.ts'
import { ALWAYS_ON, pipelineErrors } from './declared-errors.ts'
import { publicError } from './error-reply.ts'
import type { Exchange } from './exchange.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import { decode, inputReader, readBody, readInput, type InputReader } from './input.ts'
import { Request, requestIdOf, type Passage } from './passage.ts'
import { ReplyChecker } from './reply-checker.ts'
import type { ReceiveBuffers } from './receive-buffers.ts'
import type { RequestLog } from './request-log.ts'
import { serializers } from './serialize.ts'
import { openUpload, takeBody } from './upload.ts'
import type { UploadSlots } from './upload-slots.ts'

/** What the pipeline is built from. */
export interface PipelineOptions {
  readonly authenticator: Authenticator
  readonly tickets: Tickets
  readonly links: SignedLinks
  readonly memberships: Memberships
  readonly owners: Owners
  readonly limiter: RateLimiter
  readonly switches: Switches
  readonly idempotency: IdempotencyKeys
  readonly turns: Turns
  readonly context: ContextFactory
  readonly requestLog: RequestLog
  /** Where bodies of files wait that come faster than they are taken. */
  readonly buffers: ReceiveBuffers
  readonly uploads: UploadSlots
  readonly publicUrl: string
  /** Check every reply and error against the declaration. */
  readonly checkReplies: boolean
}

/**
 * Handles requests of one operation. Path parameters come raw, in the order of the pattern. A promise is given back only
 * where something was waited for.
 */
export type RequestHandler = (exchange: Exchange, parameters: readonly string[]) => void | Promise<void>

interface Compiled {
  readonly op: NamedOperation
  readonly reader: InputReader
  readonly answering: Answering
}

/**
 * Turns a declaration into a request handler. The order of checks is fixed, and tested:
 * 404 and 405 (server) → 413, 415 → 401 → 429 → 503 switched off → 400 → tenant 404 → 403 → idempotency replay →
 * handler, with its 402 and 409. A replay comes before 402, so that repeating a request that was answered is answered
 * the same even when it used up the limit.
 */
export function compileOperation(op: NamedOperation, options: PipelineOptions): RequestHandler {
  const compiled = compile(op, options)
  return (exchange, parameters) => {
    const passage: Passage = {
      exchange,
      requestId: requestIdOf(exchange),
      startedAt: performance.now(),
      caller: undefined,
      linked: false,
      workspaceId: undefined,
      rate: undefined,
      replayed: false,
      upload: undefined,
      leaveUploads: undefined,
    }
    try {
      const reply = answer({ compiled, options, passage, parameters, bytes: undefined, stream: undefined })
      if (reply instanceof Promise) return deliver(compiled, options, passage, reply)
      const sent = sendReply(compiled.answering, passage, reply)
      if (sent instanceof Promise) return deliver(compiled, options, passage, sent)
      return end(compiled, options, passage, sent)
    } catch (error) {
      return fail(compiled, options, passage, error)
    }
  }
}

async function deliver(
  compiled: Compiled,
  options: PipelineOptions,
  passage: Passage,
  coming: Promise<Reply | number>,
): Promise<void> {
  try {
    const reply = await coming
    const sent = typeof reply === 'number' ? reply : sendReply(compiled.answering, passage, reply)
    end(compiled, options, passage, typeof sent === 'number' ? sent : await sent)
  } catch (error) {
    fail(compiled, options, passage, error)
  }
}

function fail(compiled: Compiled, options: PipelineOptions, passage: Passage, error: unknown): void {
  const failure = declared(compiled.answering, publicError(error))
  end(compiled, options, passage, sendError(compiled.answering, options.publicUrl, passage, failure), failure)
}

function end(
  { op }: Compiled,
  { requestLog }: PipelineOptions,
  passage: Passage,
  status: number,
  failure?: AppError,
): void {
  passage.upload?.stream.destroy()
  passage.leaveUploads?.()
  passage.leaveUploads = undefined
  requestLog.write({
    op: op.name,
    status,
    ms: performance.now() - passage.startedAt,
    requestId: passage.requestId,
    userId: passage.caller?.userId,
    via: passage.caller?.via,
    workspaceId: passage.workspaceId,
    replayed: passage.replayed,
    failure,
    aborted: passage.exchange.aborted,
  })
}

/** The error itself, or `internal_error` for one that the operation does not declare, where replies are checked. */
function declared({ checker }: Answering, failure: AppError): AppError {
  try {
    checker?.checkError(failure)
    return failure
  } catch (error) {
    return publicError(error)
  }
}

function compile(op: NamedOperation, options: PipelineOptions): Compiled {
  const policy = RATE_LIMITS[limitClassOf(op) as keyof typeof RATE_LIMITS]
  return {
    op,
    reader: inputReader(op),
    answering: {
      op,
      write: serializers(op),
      checker: options.checkReplies ? new ReplyChecker(op, pipelineErrors(op)) : undefined,
      ratePolicy: policy ? `"${limitClassOf(op)}";q=${policy.burst};w=${policy.windowSeconds}` : '',
      rateName: `"${limitClassOf(op)}"`,
    },
  }
}

/** A request on its way through the checks. */
interface Running {
  readonly compiled: Compiled
  readonly options: PipelineOptions
  readonly passage: Passage
  readonly parameters: readonly string[]
  /** The body, once it is read. */
  bytes: Buffer | undefined
  /** The body of an upload, not read yet. */
  stream: BodyStream | undefined
  /** What identifies the file of a request with an idempotency key. */
  content?: DigestedUpload['digest']
}

/**
 * The checks, a function each, in their order. One that has to wait for something gives back a promise; where nothing
 * is waited for there is none, because each costs as much as a check.
 */
function answer(running: Running): Reply | Promise<Reply> {
  const { compiled, passage } = running
  const { op } = compiled
  // 413, 415
  if (op.method !== 'GET' && !op.upload) {
    return readBody(op, passage.exchange).then((bytes) => {
      running.bytes = bytes
      return authenticated(running)
    })
  }
  if (op.upload) running.stream = takeBody(op, op.upload, passage.exchange, running.options.buffers)
  return authenticated(running)
}

/** 401 */
function authenticated(running: Running): Reply | Promise<Reply> {
  const { compiled, options, parameters, passage } = running
  const { op } = compiled
  if (op.link && bringsLink(passage.exchange)) {
    passage.linked = followLink(op, options.links, passage.exchange, parameters)
    return withinLimits(running, undefined)
  }
  const refused = (error: unknown) => refuseCredential(options.limiter, passage.exchange.remoteAddress, error)
  let caller: Caller | undefined | Promise<Caller>
  try {
    caller = identify(op, options, passage.exchange)
  } catch (error) {
    return refused(error)
  }
  return caller instanceof Promise
    ? caller.then((found) => withinLimits(running, found), refused)
    : withinLimits(running, caller)
}

/** 429 */
function withinLimits(running: Running, caller: Caller | undefined): Reply | Promise<Reply> {
  const { compiled, options, passage } = running
  passage.caller = caller
  if (caller?.apiKey) options.authenticator.used(caller, () => passage.exchange.remoteAddress)
  const taken = takeToken(compiled.op, options.limiter, passage)
  return taken ? taken.then(() => switchedOn(running)) : switchedOn(running)
}

/** 503 of a service that is switched off, 400 of a body that is no text */
function switchedOn(running: Running): Reply | Promise<Reply> {
  const { bytes, compiled, options, passage, stream } = running
  const { op } = compiled
  if (!ALWAYS_ON.has(op.domain) && !options.switches.isOn(op.domain)) {
    throw ServiceDisabled({ message: `The service ${op.domain} is switched off at the moment.`, retryAfter: 30 })
  }
  if (!op.upload || !stream) return admitted(running, bytes ? decode(bytes) : '')
  passage.leaveUploads = options.uploads.enter(passage.caller?.userId ?? networkOf(passage.exchange.remoteAddress))
  return openUpload(op.upload, passage.exchange, stream).then(({ text, upload }) => {
    passage.upload = upload
    if (isKeyed(op, passage)) {
      const file = digested(upload)
      passage.upload = file.upload
      running.content = file.digest
    }
    return admitted(running, text)
  })
}

/** 400 of the fields, tenant 404, 403 */
function admitted(running: Running, text: string): Reply | Promise<Reply> {
  const { compiled, options, parameters, passage } = running
  const data = readInput(compiled.reader, passage.exchange, parameters, text)
  const member = admit(compiled.op, options, passage, data)
  if (member instanceof Promise) {
    return member.then((found) => handled(running, new Request(passage, data, found), text))
  }
  return handled(running, new Request(passage, data, member), text)
}

/** Idempotency replay, handler. */
function handled(running: Running, context: Request, text: string): Reply | Promise<Reply> {
  const { compiled, options, passage } = running
  return isKeyed(compiled.op, passage) ? runOnce(running, context, text) : run(compiled, options, context)
}

function isKeyed(op: NamedOperation, { exchange }: Passage): boolean {
  return op.method === 'POST' && exchange.headers.idempotencyKey !== ''
}

function run(compiled: Compiled, options: PipelineOptions, context: RequestData): Reply | Promise<Reply> {
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
  { compiled, content, options, passage }: Running,
  context: Request,
  text: string,
): Promise<Reply> {
  const { op } = compiled
  const { idempotency } = options
  const { path, query } = context
  const claimed = await idempotency.claim({
    principal: passage.caller?.userId ?? `address:${context.remoteAddress}`,
    operation: op.name,
    key: passage.exchange.headers.idempotencyKey,
    // Where the operation takes a bearer token of its own, the principal does not say who asks.
    request: [op.name, JSON.stringify(path), JSON.stringify(query), ownBearer(op, context), text].join('\n'),
    isTurn: op.turn === true,
    content,
  })
  if ('replay' in claimed) {
    passage.replayed = true
    return claimed.replay
  }
  const { claim, release } = claimed
  try {
    if (!op.turn) {
      const reply = await op.handle(options.context(context))
      await idempotency.keep(op.name, claim, reply, content)
      return reply
    }
    const payload = { kind: 'operation' as const, operation: op.name, audited: op.audit !== false, context }
    return await options.turns.operation({ ...payload, idempotency: claim })
  } catch (error) {
    if (!op.turn) await idempotency.giveUp(op.name, claim)
    const kept = await idempotency.afterConflict(op.name, claim, error)
    if (kept === undefined) throw error
    passage.replayed = true
    return kept
  } finally {
    release()
  }
}

function ownBearer(op: NamedOperation, context: Request): string {
  return op.bearer === 'own' ? (context.bearer ?? '') : ''
}
