import type { Reply } from '../core/reply.ts'
import { inWork, measured } from '../tools/work-time.ts'
import type { IdempotencyClaim } from '../turns/payload.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import type { PipelineOptions } from './pipeline.ts'
import type { RequestState } from './request-state.ts'

/**
 * Step: claims the request's idempotency key, or replies with the stored reply of that key.
 * @throws AppError bad_request, idempotency_key_in_use, idempotency_key_reused
 */
export function claimIdempotencyKey(state: RequestState, { idempotency }: PipelineOptions): void | Promise<void> {
  if (state.isKeyed) return claimKey(state, idempotency)
}

async function claimKey(state: RequestState, idempotency: IdempotencyKeys): Promise<void> {
  const { caller, compiled, content, exchange, path, query, text } = state
  const { op } = compiled
  // If the operation takes its own bearer token, the principal does not identify the caller.
  const ownBearer = op.bearer === 'own' ? (state.bearer ?? '') : ''
  // A stored reply may set a cookie, so only a browser with the same cookies gets it again.
  const page = state.ownPage === undefined ? '' : `\n${JSON.stringify(state.ownPage)}`
  const claimed = await idempotency.claim({
    principal: caller?.userId ?? `address:${state.remoteAddress}`,
    operation: op.name,
    key: exchange.headers.idempotencyKey,
    request: [op.name, JSON.stringify(path), JSON.stringify(query), ownBearer, text].join('\n') + page,
    isTurn: op.turn === true,
    content,
  })
  if ('replay' in claimed) {
    state.replayed = true
    state.reply = claimed.replay
    return
  }
  state.claim = claimed.claim
  state.releaseKey = claimed.release
}

/** Step: runs the operation's handler, in a turn if the operation declares one. */
export function handle(state: RequestState, options: PipelineOptions): void | Promise<void> {
  if (state.claim !== undefined) return handleOnce(state, options, state.claim)
  const reply = run(state, options)
  if (reply instanceof Promise) return reply.then((value) => setReply(state, value))
  setReply(state, reply)
}

function setReply(state: RequestState, reply: Reply): void {
  state.reply = reply
}

function run(state: RequestState, options: PipelineOptions, claim?: IdempotencyClaim): Reply | Promise<Reply> {
  const { before } = state.compiled.op
  if (before === undefined) return runHandler(state, options, claim)
  return inWork(state, () => before(options.context(state.data))).then((prepared) => {
    state.prepared = prepared
    return measured(state, () => runHandler(state, options, claim))
  })
}

function runHandler(state: RequestState, options: PipelineOptions, claim?: IdempotencyClaim): Reply | Promise<Reply> {
  const { op } = state.compiled
  if (!op.turn) return runInline(state, options)
  const payload = { kind: 'operation' as const, operation: op.name, audited: op.audit !== false, context: state.data }
  return options.turns.operation(claim === undefined ? payload : { ...payload, idempotency: claim })
}

/**
 * Runs a handler so that what it does after waits counts as the work of its request, which costs more than some handlers.
 * So an operation whose handler has never waited is called directly.
 */
function runInline(state: RequestState, options: PipelineOptions): Reply | Promise<Reply> {
  const { compiled } = state
  const handleIt = () => compiled.op.handle(options.context(state.data))
  const reply = compiled.neverWaits === true ? handleIt() : inWork(state, handleIt)
  if (reply instanceof Promise) compiled.neverWaits = false
  else compiled.neverWaits ??= true
  return reply
}

/** Runs a request that holds a claim on its idempotency key. A turn stores its reply itself, in its transaction. */
async function handleOnce(state: RequestState, options: PipelineOptions, claim: IdempotencyClaim): Promise<void> {
  const { idempotency } = options
  const { op } = state.compiled
  try {
    const reply = await run(state, options, claim)
    if (!op.turn) await idempotency.keep(op.name, claim, reply, state.content)
    state.reply = reply
  } catch (error) {
    if (!op.turn) await idempotency.giveUp(op.name, claim)
    const kept = await idempotency.afterConflict(op.name, claim, error)
    if (kept === undefined) throw error
    state.replayed = true
    state.reply = kept
  } finally {
    state.releaseKey?.()
  }
}
