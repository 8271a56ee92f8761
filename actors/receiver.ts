import type { Call, OpenCalls } from './calls.ts'
import type { Reply, Request } from './links/frames.ts'
import type { Codec, RuntimeClock } from './ports.ts'
import { RefusedError, type Command } from './types.ts'
import { UnderWay } from './under-way.ts'

export interface ReceiverOptions {
  readonly clock: RuntimeClock
  readonly codec: Codec
  readonly calls: OpenCalls
  /** Runs the call here, or calls its `elsewhere` if another node owns the actor. */
  readonly route: (call: Call) => void
}

/** Handles commands from other nodes, which consider this node the owner. */
export class Receiver {
  readonly #options: ReceiverOptions
  readonly #underWay = new UnderWay()
  received = 0

  constructor(options: ReceiverOptions) {
    this.#options = options
  }

  readonly handle = (request: Request, answer: (reply: Reply) => void): void => {
    const { codec, calls, clock, route } = this.#options
    this.received += 1
    const { operationId } = request
    if (this.#underWay.join(operationId, answer)) return
    this.#underWay.begin(operationId, answer)
    const reply = (what: Reply) => this.#underWay.end(operationId, what)
    let command: Command
    try {
      command = {
        actor: request.actor,
        operationId,
        caller: request.caller,
        deadline: clock.monotonic() + request.leftMs,
        priority: request.control ? 'control' : 'normal',
        payload: codec.decode('payload', request.payload),
        ...(request.repeated ? { repeated: true } : {}),
      }
    } catch (error) {
      reply({ kind: 'error', text: codec.encode('error', error) })
      return
    }
    const call = calls.open(
      command,
      (value) => reply(this.#encode('value', value)),
      (error) => reply(error instanceof RefusedError ? refusal(error) : this.#encode('error', error)),
    )
    if (call === undefined) return
    call.elsewhere = () => {
      const mayHaveRun = call.command.repeated === true && !request.repeated
      call.drop()
      reply({ kind: mayHaveRun ? 'unknown' : 'moved' })
    }
    route(call)
  }

  #encode(kind: 'value' | 'error', data: unknown): Reply {
    const { codec } = this.#options
    try {
      return { kind, text: codec.encode(kind, data) }
    } catch (error) {
      return { kind: 'error', text: codec.encode('error', error) }
    }
  }
}

function refusal(error: RefusedError): Reply {
  return { kind: 'refused', reason: error.reason, retryAfter: error.retryAfter }
}
