import { Overloaded } from '../core/errors.ts'
import type { Reservation } from '../core/main-thread.ts'
import type { PipelineOptions } from './pipeline.ts'
import type { RequestState } from './request-state.ts'

/**
 * Step: waits while the requests of the account, or of the network of an anonymous client, keep the main thread for too
 * long. It comes before the body is parsed, because that is work already.
 * @throws AppError overloaded
 */
export function shareOfSender(state: RequestState, options: PipelineOptions): void | Promise<void> {
  if (options.thread.isIdle) return
  return share(state, options, state.sender)
}

/**
 * Step: the same for the workspace, once the caller is known to be a member of it.
 * @throws AppError overloaded
 */
export function shareOfWorkspace(state: RequestState, options: PipelineOptions): void | Promise<void> {
  if (options.thread.isIdle || state.member === undefined) return
  return share(state, options, state.member.workspaceId)
}

function share(state: RequestState, { thread }: PipelineOptions, tenant: string): void | Promise<void> {
  const { op } = state.compiled
  if (op.alwaysAnswered) return
  const entered = thread.enter(tenant, op.name)
  if (!(entered instanceof Promise)) {
    hold(state, entered)
    return
  }
  return holdLater(state, entered)
}

async function holdLater(state: RequestState, entered: Promise<Reservation | undefined>): Promise<void> {
  hold(state, await entered)
  // Nobody waits for the reply.
  if (state.exchange.aborted) throw Overloaded({ retryAfter: 1 })
}

function hold(state: RequestState, reserved: Reservation | undefined): void {
  if (reserved === undefined) return
  state.reservations ??= []
  state.reservations.push(reserved)
}
