import { RefusedError, type Actors } from '../../actors/index.ts'
import type { Clock } from '../core/clock.ts'
import { DeadlineExceeded, OutcomeUnknown, Overloaded, ShuttingDown } from '../core/errors.ts'
import { uuidv7 } from '../tools/id.ts'
import type { Reply } from '../core/reply.ts'
import type { SystemTurn, TurnRunner } from '../core/system-turn.ts'
import { actorOf } from './actor-name.ts'
import type { OperationTurn } from './payload.ts'

/** How long a turn may wait. It is then dropped without having run. */
const TURN_DEADLINE_MS = 10_000

/** Sends turns to actors as commands, and turns refusals into errors of the API. */
export class Turns implements TurnRunner {
  readonly #actors: Actors
  readonly #clock: Clock

  constructor(actors: Actors, clock: Clock) {
    this.#actors = actors
    this.#clock = clock
  }

  /** Runs an operation's handler as a turn. @throws AppError */
  async operation(payload: OperationTurn): Promise<Reply> {
    const { workspaceId, caller } = payload.context
    if (workspaceId === undefined) throw new Error(`the turn ${payload.operation} names no workspace`)
    return (await this.#run(workspaceId, caller.userId, 'normal', payload)) as Reply
  }

  async system<I, R>(workspaceId: string, turn: SystemTurn<I, R>, input: I): Promise<R> {
    return (await this.#run(workspaceId, 'system', 'control', { kind: 'system', name: turn.name, input })) as R
  }

  async #run(workspaceId: string, caller: string, priority: 'normal' | 'control', payload: unknown): Promise<unknown> {
    try {
      return await this.#actors.run({
        actor: actorOf(workspaceId),
        operationId: uuidv7(this.#clock.now()),
        caller,
        priority,
        deadline: this.#clock.monotonic() + TURN_DEADLINE_MS,
        payload,
      })
    } catch (error) {
      throw refusal(error)
    }
  }
}

function refusal(error: unknown): unknown {
  if (!(error instanceof RefusedError)) return error
  const options = { retryAfter: error.retryAfter, cause: error }
  if (error.reason === 'expired') return DeadlineExceeded(options)
  if (error.reason === 'unknown') return OutcomeUnknown(options)
  if (error.reason === 'closed') return ShuttingDown(options)
  return Overloaded(options)
}
