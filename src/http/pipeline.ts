import type { AppError } from '../core/error.ts'
import { ServiceDisabled } from '../core/errors.ts'
import type { ContextFactory, RequestData } from '../core/context.ts'
import { limitClassOf, RATE_LIMITS } from '../core/limits.ts'
import type { NamedOperation } from '../core/operation.ts'
import type { Authenticator, Memberships, Owners, RateLimiter, Switches, Tickets } from '../core/ports.ts'
import type { Reply } from '../core/reply.ts'
import type { SignedLinks } from '../core/signed-links.ts'
import type { Turns } from '../turns/turn-runner.ts'
import { admit, bringsLink, followLink, identify, takeToken } from './admission.ts'
import { sendError, sendReply, type Answering } from './answer.ts'
import { ALWAYS_ON, pipelineErrors } from './declared-errors.ts'
import { publicError } from './error-reply.ts'
import type { Exchange } from './exchange.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import { decode, inputReader, readBody, readInput, type InputReader } from './input.ts'
import { Request, requestIdOf, type Passage } from './passage.ts'
import { ReplyChecker } from './reply-checker.ts'
import type { RequestLog } from './request-log.ts'
import { serializers } from './serialize.ts'
import { openUpload, takeBody } from './upload.ts'

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
  readonly publicUrl: string
  /** Check every reply and error against the declaration. */
  readonly checkReplies: boolean
}

const NO_BODY = Buffer.alloc(0)

/** Handles requests of one operation. Path parameters come raw, in the order of the pattern. */
export type RequestHandler = (exchange: Exchange, parameters: readonly string[]) => Promise<void>

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
  return async (exchange, parameters) => {
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
    }
    let status: number
    let failure: AppError | undefined
    try {
      const reply = await answer(compiled, options, passage, parameters)
      const sent = sendReply(compiled.answering, passage, reply)
      status = typeof sent === 'number' ? sent : await sent
    } catch (error) {
      failure = declared(compiled.answering, publicError(error))
      status = sendError(compiled.answering, options.publicUrl, passage, failure)
    }
    passage.upload?.stream.destroy()
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

/** Waits only where it must: each wait for something that is known costs as much as a check. */
async function answer(
  compiled: Compiled,
  options: PipelineOptions,
  passage: Passage,
  parameters: readonly string[],
): Promise<Reply> {
  const { op } = compiled
  const { exchange } = passage
  // 413, 415
  const body = op.upload && takeBody(op, op.upload, exchange)
  const bytes = op.method === 'GET' || body ? NO_BODY : await readBody(op, exchange)
  // 401
  if (op.link && bringsLink(exchange)) passage.linked = followLink(op, options.links, exchange, parameters)
  else {
    const caller = identify(op, options, exchange)
    passage.caller = caller instanceof Promise ? await caller : caller
  }
  // 429
  const taken = takeToken(op, options.limiter, passage)
  if (taken) await taken
  // 503
  if (!ALWAYS_ON.has(op.domain) && !options.switches.isOn(op.domain)) {
    throw ServiceDisabled({ message: `The service ${op.domain} is switched off at the moment.`, retryAfter: 30 })
  }
  // 400
  let text: string
  if (op.upload && body) ({ text, upload: passage.upload } = await openUpload(op.upload, exchange, body))
  else text = bytes === NO_BODY ? '' : decode(bytes)
  const data = readInput(compiled.reader, exchange, parameters, text)
  // tenant 404, 403
  const admitted = admit(op, options, passage, data)
  const member = admitted instanceof Promise ? await admitted : admitted
  const context = new Request(passage, data, member)
  // idempotency replay, handler
  const key = exchange.headers.idempotencyKey
  if (key === '' || op.method !== 'POST') return run(compiled, options, context)
  // A file is not read to know a request again: its fields and its size tell enough.
  const told = op.upload ? `${text}\n${exchange.headers.contentLength}` : text
  return runOnce(compiled, options, passage, context, key, told)
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
