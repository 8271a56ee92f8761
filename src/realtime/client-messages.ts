import { InvalidCredential, ShuttingDown, ValidationFailed } from '../core/errors.ts'
import type { TallyLog } from '../tools/tally-log.ts'
import type { Caller } from '../core/caller.ts'
import type { Credential } from '../core/ports.ts'
import type { CallReply, SocketCalls, SocketClient } from '../core/socket-calls.ts'
import { validator } from '../core/validate.ts'
import type { ViewedResource, Viewing } from '../core/viewing.ts'
import { acknowledgeAsText, type Acknowledge } from './acknowledgements.ts'
import { addressOf, credentialOf, describe } from './credentials.ts'
import { TooManyCalls } from './errors.ts'
import { SOCKET_LIMITS } from './limits.ts'
import type { UserSocket } from './connected-users.ts'
import { PresenceMessage, ViewingMessage } from './protocol.ts'
import type { Typing } from './typing.ts'
import type { Viewers } from './viewers.ts'

export interface ClientMessagesOptions {
  /** Authenticates a credential that was sent over a socket. @throws AppError */
  readonly authenticate: (socket: UserSocket, credential: Credential) => Promise<Caller>
  readonly calls: SocketCalls
  readonly typing: Typing
  readonly viewing: Viewing
  readonly viewers: Viewers
  /** Called when a client reports on one socket that its user is online or away. */
  readonly onPresence: (socket: UserSocket, isAway: boolean) => void
  /** Called when a socket has a new credential, which may have other scopes. */
  readonly onRenewed: (userId: string) => Promise<unknown>
  readonly trustedProxies: number
  readonly failures: TallyLog
}

const checkPresence = validator(PresenceMessage, '/presence')
const checkViewing = validator(ViewingMessage, '/viewing')
const DONE: CallReply = { status: 200, headers: {}, json: JSON.stringify({ status: true, message: 'Done' }) }

/** Handles the messages of clients: calls of operations, and the messages of `protocol.ts`. */
export class ClientMessages {
  readonly #options: ClientMessagesOptions
  #running = 0
  #draining = false
  #whenIdle: (() => void) | undefined

  constructor(options: ClientMessagesOptions) {
    this.#options = options
  }

  /** Starts handling the messages of an authenticated socket. */
  join(socket: UserSocket): void {
    const { calls, typing, onPresence, viewers, viewing } = this.#options
    acknowledgeAsText(socket)
    const pending = { count: 0 }
    const serve = (name: string, answer: (message: unknown, client: SocketClient) => Promise<CallReply>) => {
      socket.on(name, (...received: unknown[]) => void this.#serve(socket, pending, received, answer))
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
      viewing.update(socket)
      return DONE
    })
    serve('viewing', async (message) => {
      const checked = checkViewing(message)
      if (!checked.ok) throw ValidationFailed({ errors: checked.errors })
      viewing.show(socket, (checked.value as { resources: readonly ViewedResource[] }).resources)
      return DONE
    })
    serve('viewer', async (message) => {
      const data = await viewers.announce(socket, message)
      return { ...DONE, json: JSON.stringify({ status: true, message: 'Others who have it open', data }) }
    })
    socket.on('disconnect', () => {
      viewing.leave(socket)
      viewers.leave(socket)
    })
    socket.on('auth', (...received: unknown[]) => void this.#renew(socket, received))
  }

  /** Refuses new calls and waits for those in progress. */
  async drain(withinMs: number): Promise<void> {
    this.#draining = true
    if (this.#running === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#whenIdle = resolve
    const timer = setTimeout(resolve, withinMs)
    await promise
    clearTimeout(timer)
  }

  async #serve(
    socket: UserSocket,
    pending: { count: number },
    received: readonly unknown[],
    answer: (message: unknown, client: SocketClient) => Promise<CallReply>,
  ): Promise<void> {
    const { calls } = this.#options
    const { message, acknowledge } = parse(received)
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
    this.#running += 1
    try {
      acknowledge(await answer(message, client))
    } catch (error) {
      acknowledge(calls.refuse(error, client))
    } finally {
      pending.count -= 1
      this.#running -= 1
      if (this.#running === 0) this.#whenIdle?.()
    }
  }

  /** Replaces the token of a socket before it expires. The new one must be of the same user. */
  async #renew(socket: UserSocket, received: readonly unknown[]): Promise<void> {
    const { authenticate, failures } = this.#options
    const { message, acknowledge } = parse(received)
    try {
      const credential = credentialOf((message as { token?: unknown } | null | undefined)?.token)
      const caller = await authenticate(socket, credential)
      if (caller.userId !== socket.data.caller.userId)
        throw InvalidCredential({ message: 'The token belongs to another user.' })
      socket.data = { ...socket.data, caller, credential }
      await this.#options.onRenewed(caller.userId)
      acknowledge({ status: true, message: 'Token accepted' })
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

/** The message and the acknowledgement callback of an event. Both are optional. */
function parse(received: readonly unknown[]): { message: unknown; acknowledge: Acknowledge } {
  const last = received.at(-1)
  const acknowledge = typeof last === 'function' ? (last as Acknowledge) : () => undefined
  return { message: typeof received[0] === 'function' ? undefined : received[0], acknowledge }
}
