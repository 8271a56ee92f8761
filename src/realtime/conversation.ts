import { InvalidCredential, ShuttingDown, ValidationFailed } from '../core/errors.ts'
import type { TallyLog } from '../core/tally-log.ts'
import type { Caller } from '../core/caller.ts'
import type { Credential } from '../core/ports.ts'
import type { CallReply, SocketCalls, SocketClient } from '../core/socket-calls.ts'
import { validator } from '../core/validate.ts'
import { acknowledgeAsText, type Acknowledge } from './acknowledgements.ts'
import { addressOf, credentialOf, describe } from './credentials.ts'
import { TooManyCalls } from './errors.ts'
import { SOCKET_LIMITS } from './limits.ts'
import type { UserSocket } from './people.ts'
import { PresenceMessage } from './protocol.ts'
import type { Typing } from './typing.ts'

export interface ConversationOptions {
  /** Who holds a credential that came over a socket. @throws AppError */
  readonly authenticate: (socket: UserSocket, credential: Credential) => Promise<Caller>
  readonly calls: SocketCalls
  readonly typing: Typing
  /** A user says at one socket that they are there, or away. */
  readonly onPresence: (socket: UserSocket, isAway: boolean) => void
  /** A socket goes by another credential from now on, which may reach less far or farther. */
  readonly onRenewed: (userId: string) => Promise<unknown>
  readonly trustedProxies: number
  readonly failures: TallyLog
}

const checkPresence = validator(PresenceMessage, '/presence')
const DONE: CallReply = { status: 200, headers: {}, json: JSON.stringify({ status: true, message: 'Done' }) }

/** Answers what clients say: calls of operations, and the messages of `protocol.ts`. */
export class Conversation {
  readonly #options: ConversationOptions
  #underWay = 0
  #draining = false
  #whenIdle: (() => void) | undefined

  constructor(options: ConversationOptions) {
    this.#options = options
  }

  /** Listens to a socket that was admitted. */
  join(socket: UserSocket): void {
    const { calls, typing, onPresence } = this.#options
    acknowledgeAsText(socket)
    const pending = { count: 0 }
    const serve = (name: string, answer: (message: unknown, client: SocketClient) => Promise<CallReply>) => {
      socket.on(name, (...said: unknown[]) => void this.#serve(socket, pending, said, answer))
    }
    serve('call', (message, client) => calls.call(message, client))
    serve('sync', (message, client) => calls.named('sync', message, client))
    serve('resume', (message, client) => calls.named('resume', message, client))
    serve('typing', async (message) => {
      await typing.announce(socket, message)
      return DONE
    })
    serve('presence', async (message) => {
      const checked = checkPresence(message)
      if (!checked.ok) throw ValidationFailed({ errors: checked.errors })
      onPresence(socket, (checked.value as { presence: string }).presence === 'away')
      return DONE
    })
    socket.on('auth', (...said: unknown[]) => void this.#renew(socket, said))
  }

  /** Takes no more calls, and waits for those that are under way. */
  async drain(withinMs: number): Promise<void> {
    this.#draining = true
    if (this.#underWay === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#whenIdle = resolve
    const timer = setTimeout(resolve, withinMs)
    await promise
    clearTimeout(timer)
  }

  async #serve(
    socket: UserSocket,
    pending: { count: number },
    said: readonly unknown[],
    answer: (message: unknown, client: SocketClient) => Promise<CallReply>,
  ): Promise<void> {
    const { calls } = this.#options
    const { message, acknowledge } = heard(said)
    const client = this.#clientOf(socket)
    if (this.#draining) {
      acknowledge(calls.refuse(ShuttingDown({ retryAfter: 1 }), client))
      return
    }
    if (pending.count >= SOCKET_LIMITS.pendingCalls) {
      acknowledge(calls.refuse(TooManyCalls({ retryAfter: 1 }), client))
      return
    }
    pending.count += 1
    this.#underWay += 1
    try {
      acknowledge(await answer(message, client))
    } catch (error) {
      acknowledge(calls.refuse(error, client))
    } finally {
      pending.count -= 1
      this.#underWay -= 1
      if (this.#underWay === 0) this.#whenIdle?.()
    }
  }

  /** A client whose token runs out sends the next one, of the same user. */
  async #renew(socket: UserSocket, said: readonly unknown[]): Promise<void> {
    const { authenticate, failures } = this.#options
    const { message, acknowledge } = heard(said)
    try {
      const credential = credentialOf((message as { token?: unknown } | null | undefined)?.token)
      const caller = await authenticate(socket, credential)
      if (caller.userId !== socket.data.caller.userId)
        throw InvalidCredential({ message: 'The token is another user’s.' })
      socket.data = { ...socket.data, caller, credential }
      await this.#options.onRenewed(caller.userId)
      acknowledge({ status: true, message: 'The token was taken' })
    } catch (error) {
      acknowledge({ status: false, ...describe(error, failures) })
    }
  }

  #clientOf(socket: UserSocket): SocketClient {
    return {
      credential: socket.data.credential,
      remoteAddress: addressOf(socket, this.#options.trustedProxies),
      userAgent: socket.handshake.headers['user-agent'] ?? '',
    }
  }
}

/** A message, if any came, and what acknowledges it, if anything does. */
function heard(said: readonly unknown[]): { message: unknown; acknowledge: Acknowledge } {
  const last = said.at(-1)
  const acknowledge = typeof last === 'function' ? (last as Acknowledge) : () => undefined
  return { message: typeof said[0] === 'function' ? undefined : said[0], acknowledge }
}
