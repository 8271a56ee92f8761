import type { ChangeData } from '../domains/talk/chat/schemas.ts'
import type { ChannelState } from '../domains/talk/chat/state.ts'
import type { ReplyOf, RequestOf } from './client.ts'
import { Caller, type SocketReply } from './caller.ts'
import { FollowedChannel } from './channel.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { EventFollower, type EventsOptions, type NumberedEvent } from './events.ts'
import type { OperationRoutes } from './routes.ts'

/**
 * A typed client of the sockets for browsers and Node. It reconnects and catches up by itself:
 *
 *     import { io } from 'socket.io-client'
 *     const crier = new SocketClient({ url, io, token: () => freshAccessToken() })
 *     const channel = crier.channel({ workspaceId, channelId })
 *     channel.subscribe(({ state, pending, isLive }) => render(state.messages, pending, isLive))
 *     await channel.send({ body: 'Hello' })
 *     const { body } = await crier.call('listMessages', { path: { workspaceId, channelId } })
 */

/** The operations of the API by name. The server defines which of them can be called over a socket. */
export type OperationName = keyof OperationRoutes
type RouteOf<N extends OperationName> = OperationRoutes[N]

export interface CallOptions {
  /** Whether to send the call again when the connection was lost before the reply; true with an idempotency key. */
  readonly resend?: boolean
}

export interface SocketClientOptions extends ConnectionOptions {
  /**
   * The interval in milliseconds after which a channel without changes is checked, because a notice can be lost
   * together with the node that sent it; 30,000 when absent.
   */
  readonly quietMs?: number
}

export { SocketLostError } from './connection.ts'
export type { ChannelListener, ChannelView, Draft, PendingMessage } from './channel.ts'

export class SocketClient {
  readonly #connection: Connection
  readonly #caller: Caller
  readonly #channels = new Map<string, FollowedChannel>()
  readonly #followers = new Map<string, Set<EventFollower>>()
  readonly #timer: ReturnType<typeof setInterval>
  #viewing: readonly { kind: string; resourceId: string }[] = []

  constructor(options: SocketClientOptions) {
    this.#connection = new Connection(options)
    this.#caller = new Caller(this.#connection)
    this.#connection.onConnected(() => {
      this.#catchUp()
      if (this.#viewing.length > 0) this.viewing(this.#viewing)
    })
    this.#connection.onLost(() => {
      for (const channel of this.#channels.values()) channel.lost()
    })
    this.#connection.onMessage((name, message) => this.#receive(name, message))
    this.#timer = setInterval(() => {
      if (this.isConnected) for (const channel of this.#channels.values()) channel.look()
    }, options.quietMs ?? 30_000)
  }

  get isConnected(): boolean {
    return this.#connection.isConnected
  }

  /** Resolves when the connection is established. */
  whenConnected(): Promise<void> {
    return this.#connection.whenConnected()
  }

  /** Calls back whenever the connection is established. */
  onConnected(listener: () => void): void {
    this.#connection.onConnected(listener)
  }

  /** Receives all messages of the server: events of workspaces, `chat.typing`, `presence.updated` and so on. */
  onMessage(listener: (name: string, message: unknown) => void): void {
    this.#connection.onMessage(listener)
  }

  /**
   * Calls an operation, typed by its name. Waits for the connection.
   * @throws CrierError as over REST; SocketLostError when the reply did not arrive
   */
  async call<N extends OperationName>(
    operation: N,
    request: RequestOf<RouteOf<N>>,
    { resend = (request as { idempotencyKey?: string }).idempotencyKey !== undefined }: CallOptions = {},
  ): Promise<SocketReply<ReplyOf<RouteOf<N>>['status'], ReplyOf<RouteOf<N>>['body']>> {
    const { body, idempotencyKey, ifMatch, path, query } = request as Record<string, unknown>
    const parts = { path, query, body, idempotencyKey, ifMatch }
    const given = Object.entries(parts).filter(([, part]) => part !== undefined)
    return (await this.#caller.reply('call', { operation, ...Object.fromEntries(given) }, resend)) as never
  }

  /** Reports that the user is typing in a channel. Call it repeatedly while they type. */
  typing(place: { workspaceId: string; channelId: string }): void {
    if (this.isConnected) void this.#connection.ask('typing', place).catch(() => undefined)
  }

  /** Reports whether the user is active in this program. */
  presence(presence: 'online' | 'away'): void {
    if (this.isConnected) void this.#connection.ask('presence', { presence }).catch(() => undefined)
  }

  /**
   * Reports what the user has on the screen, so that they are not notified of it. Call it again when that changes, with
   * nothing when they view nothing. It is repeated after a reconnect.
   */
  viewing(resources: readonly { kind: string; resourceId: string }[]): void {
    this.#viewing = resources
    if (this.isConnected) void this.#connection.ask('viewing', { resources }).catch(() => undefined)
  }

  /**
   * Subscribes to a channel. Further calls with the same channel return the same object.
   * @param state the state to continue from: an earlier `view.state`
   */
  channel(place: { workspaceId: string; channelId: string }, state?: ChannelState): FollowedChannel {
    const known = this.#channels.get(place.channelId)
    if (known) return known
    const channel = new FollowedChannel(this.#caller, place, state)
    this.#channels.set(place.channelId, channel)
    if (this.isConnected) void channel.sync()
    return channel
  }

  /** Unsubscribes from a channel. */
  leave(channelId: string): void {
    this.#channels.delete(channelId)
  }

  /**
   * Follows the events of a workspace. None is lost or delivered twice.
   * @returns a function that stops it, and the current position: the options `after` and `generation` of a later call
   */
  events(
    workspaceId: string,
    options: EventsOptions,
  ): {
    readonly stop: () => void
    readonly after: () => number | undefined
    readonly generation: () => string | undefined
  } {
    const follower = new EventFollower(this.#caller, workspaceId, options)
    const followers = this.#followers.get(workspaceId) ?? new Set()
    this.#followers.set(workspaceId, followers.add(follower))
    if (this.isConnected) void resumed(follower)
    return {
      stop: () => void followers.delete(follower),
      after: () => follower.after,
      generation: () => follower.generation,
    }
  }

  /** Closes the connection permanently. */
  close(): void {
    clearInterval(this.#timer)
    this.#connection.close()
  }

  #catchUp(): void {
    for (const channel of this.#channels.values()) void channel.sync()
    for (const followers of this.#followers.values()) for (const follower of followers) void resumed(follower)
  }

  #receive(name: string, message: unknown): void {
    if (name === 'missed' || isSwitchedOn(name, message)) this.#catchUp()
    else if (name === 'chat.change') {
      const change = message as ChangeData
      this.#channels.get(change.channelId)?.receive(change)
    } else {
      const event = message as NumberedEvent
      if (!Number.isInteger(event.seq)) return
      for (const follower of this.#followers.get(event.workspaceId) ?? []) follower.receive(event)
    }
  }
}

/** While a service was off, the client could not ask it for what it has missed. */
function isSwitchedOn(name: string, message: unknown): boolean {
  return name === 'service.updated' && (message as { enabled: boolean }).enabled
}

/** A workspace that cannot be seen (any more) has no events for this client. */
async function resumed(follower: EventFollower): Promise<void> {
  await follower.resume().catch(() => undefined)
}
