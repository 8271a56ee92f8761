import type { AppError } from '../core/error.ts'
import type { ContextFactory } from '../core/context.ts'
import type { MainThread } from '../core/main-thread.ts'
import type { NamedOperation } from '../core/operation.ts'
import type {
  Authenticator,
  Downloads,
  Memberships,
  Owners,
  RateLimiter,
  Switches,
  Tickets,
  Workers,
} from '../core/ports.ts'
import type { SignedLinks } from '../core/signed-links.ts'
import { measured } from '../tools/work-time.ts'
import type { Turns } from '../turns/turn-runner.ts'
import { authenticate, authorize, limitRate } from './admission.ts'
import { sendError, sendReply } from './send-reply.ts'
import { openBody, readBody } from './body.ts'
import { compiledOperation, type CompiledOperation } from './compiled-operation.ts'
import { publicError } from './error-reply.ts'
import type { Exchange } from './exchange.ts'
import { claimIdempotencyKey, handle } from './handle.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import { readFields } from './input.ts'
import type { JsonParser } from './json-parser.ts'
import type { ReceiveBuffers } from './receive-buffers.ts'
import type { RequestLog } from './request-log.ts'
import { takesGzip } from './page.ts'
import { ReadyReplies } from './ready-replies.ts'
import { requestIdOf, RequestState } from './request-state.ts'
import { requireSwitchedOn } from './switched-on.ts'
import { shareOfSender, shareOfWorkspace } from './thread-share.ts'
import type { UploadSlots } from './upload-slots.ts'

/** The dependencies of the pipeline. */
export interface PipelineOptions {
  readonly authenticator: Authenticator
  readonly tickets: Tickets
  readonly downloads: Downloads
  readonly workers: Workers
  readonly links: SignedLinks
  readonly memberships: Memberships
  readonly owners: Owners
  readonly limiter: RateLimiter
  readonly switches: Switches
  readonly idempotency: IdempotencyKeys
  readonly turns: Turns
  readonly context: ContextFactory
  readonly requestLog: RequestLog
  /** Shares the main thread among tenants. */
  readonly thread: MainThread
  /** Buffers for files that arrive faster than they are read. */
  readonly buffers: ReceiveBuffers
  readonly uploads: UploadSlots
  /** Parses large bodies. */
  readonly json: JsonParser
  readonly publicUrl: string
  /** Checks all replies and errors against the declaration. */
  readonly checkReplies: boolean
}

/**
 * One step of the pipeline. It throws the `AppError` that refuses the request, or sets what later steps read. It
 * returns a promise only if it has to wait, because a promise costs as much as a step.
 */
export type Step = (state: RequestState, options: PipelineOptions) => void | Promise<void>

/**
 * The steps of every request, in order. The server has already handled 404 and 405. Idempotency keys are checked before
 * 402, so that a repeated request gets the same reply even if the first one used up the limit.
 * `test/api/pipeline-order.test.ts` tests the order.
 */
const STEPS: readonly Step[] = [
  readBody, // 413, 415
  authenticate, // 401
  limitRate, // 429
  requireSwitchedOn, // 503
  shareOfSender, // 503 of an account or network whose requests keep the main thread
  openBody, // 400 of a body that cannot be read, 429 of too many uploads
  readFields, // 400
  authorize, // 404 of another tenant's resource, 403
  shareOfWorkspace, // the same of a workspace
  claimIdempotencyKey, // the stored reply, 409
  handle, // 402, 409 and the operation's own errors
]

/**
 * Handles the requests of one operation. Path parameters are raw, in the order of the pattern. Returns a promise only
 * if the request has to wait for something.
 */
export type RequestHandler = (exchange: Exchange, parameters: readonly string[]) => void | Promise<void>

/** Compiles an operation to a request handler. */
export function compileOperation(op: NamedOperation, options: PipelineOptions): RequestHandler {
  const compiled = compiledOperation(op, options.checkReplies)
  const ready = ReadyReplies.of(op)
  return (exchange, parameters) => {
    if (ready !== undefined && sendReady(ready, op, options, exchange, parameters)) return
    const state = new RequestState(compiled, exchange, parameters, options.thread)
    try {
      const waiting = runSteps(state, options, 0)
      if (waiting instanceof Promise) {
        state.waited = true
        state.spent(performance.now() - state.startedAt)
        return answerLater(state, options, waiting)
      }
      if (ready !== undefined && exchange.http !== undefined && state.reply !== undefined) {
        ready.keep(exchange.http, parameters, state.reply)
      }
      return answer(state, options)
    } catch (error) {
      return fail(state, options, error)
    }
  }
}

/** Sends what an earlier request for the same public content got. @returns whether it was sent */
function sendReady(
  ready: ReadyReplies,
  op: NamedOperation,
  { requestLog, switches }: PipelineOptions,
  { http }: Exchange,
  parameters: readonly string[],
): boolean {
  if (http === undefined || http.headers.ifNoneMatch !== '' || !switches.isOn(op.domain)) return false
  const found = ready.find(http, parameters)
  if (found === undefined) return false
  const startedAt = performance.now()
  const requestId = requestIdOf(http)
  const isCompressed = found.compressed !== undefined && takesGzip(http.headers.acceptEncoding)
  const { bytes, head } = (isCompressed ? found.compressed : undefined) ?? found
  if (!http.sendReady(`\r\nX-Request-Id: ${requestId}${head}`, bytes)) return false
  const ms = performance.now() - startedAt
  requestLog.write({ ...ANONYMOUS, op: op.name, status: 200, ms, requestId, aborted: false })
  return true
}

/** What the log says of a request without a caller. */
const ANONYMOUS = {
  userId: undefined,
  via: undefined,
  workspaceId: undefined,
  replayed: false,
  failure: undefined,
} as const

/** Runs the steps from `first` on, until one of them has set the reply. */
function runSteps(state: RequestState, options: PipelineOptions, first: number): void | Promise<void> {
  for (let index = first; index < STEPS.length && state.reply === undefined; index += 1) {
    const waiting = STEPS[index]!(state, options)
    if (waiting instanceof Promise) {
      return waiting.then(() => measured(state, () => runSteps(state, options, index + 1)))
    }
  }
}

async function answerLater(state: RequestState, options: PipelineOptions, waiting: Promise<void>): Promise<void> {
  try {
    await waiting
    await measured(state, () => answer(state, options))
  } catch (error) {
    fail(state, options, error)
  }
}

function answer(state: RequestState, options: PipelineOptions): void | Promise<void> {
  if (state.reply === undefined) throw new Error(`${state.compiled.op.name} was not answered`)
  const sent = sendReply(state, state.reply)
  if (!(sent instanceof Promise)) return finish(state, options, sent)
  return sent.then(
    (status) => finish(state, options, status),
    (error: unknown) => fail(state, options, error),
  )
}

function fail(state: RequestState, options: PipelineOptions, error: unknown): void {
  const failure = declared(state.compiled, publicError(error))
  finish(state, options, sendError(state, options.publicUrl, failure), failure)
}

/** Releases what the request held and writes its log line. */
function finish(state: RequestState, { requestLog }: PipelineOptions, status: number, failure?: AppError): void {
  state.upload?.stream.destroy()
  state.exchange.releaseBody()
  state.leaveUploads?.()
  state.leaveUploads = undefined
  const ms = performance.now() - state.startedAt
  if (!state.waited) state.spent(ms)
  if (state.reservations !== undefined) state.leaveThread()
  requestLog.write({
    op: state.compiled.op.name,
    status,
    ms,
    requestId: state.requestId,
    userId: state.caller?.userId,
    via: state.caller?.via,
    workspaceId: state.workspaceId,
    replayed: state.replayed,
    failure,
    aborted: state.exchange.aborted,
  })
}

/** The error itself; if replies are checked, `internal_error` for an error that the operation does not declare. */
function declared({ checker }: CompiledOperation, failure: AppError): AppError {
  try {
    checker?.checkError(failure)
    return failure
  } catch (error) {
    return publicError(error)
  }
}
