import { Server } from 'socket.io'
import type { Registry } from 'prom-client'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { clientAddress } from '../tools/client-address.ts'
import { AppError } from '../core/error.ts'
import { EmailUnverified, OriginNotAllowed, ShuttingDown } from '../core/errors.ts'
import type { EventType, WorkspaceEvent } from '../core/event.ts'
import { TallyLog } from '../tools/tally-log.ts'
import type { Logger } from '../core/log.ts'
import type { Authenticator, Credential, Memberships, RateLimiter } from '../core/ports.ts'
import type { ServiceStatus, WatchedSwitches } from '../core/service-switch.ts'
import { refuseCredential } from '../core/refused-credential.ts'
import type { SocketCalls } from '../core/socket-calls.ts'
import type { Sql } from '../core/sql.ts'
import type { Coordination } from '../coordination/coordination.ts'
import type { PersonalMessage } from '../coordination/personal.ts'
import { isLimited } from '../core/key-limits.ts'
import { RoomPublisher } from './room-publisher.ts'
import { ClientMessages, type ClientMessagesOptions } from './client-messages.ts'
import { addressOf, credentialOf, refusal } from './credentials.ts'
import { TooManySockets } from './errors.ts'
import { presenceChanged } from './events.ts'
import { measure, type GatewayCounts } from './gateway-metrics.ts'
import { SOCKET_LIMITS } from './limits.ts'
import { SERVICE_UPDATED } from './protocol.ts'
import type { AccessSource } from './access-source.ts'
import { ConnectedUsers, type SocketData, type UserSocket } from './connected-users.ts'
import { Presence, type PresenceChange } from './presence.ts'
import { channelRoom, scopeRoom, workspaceRoom } from './rooms.ts'
import { StalledReaders } from './stalled-readers.ts'
import { UnauthenticatedConnections, type EngineConnection } from './unauthenticated.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import { Typing } from './typing.ts'
import { Viewers, type ViewersOptions } from './viewers.ts'
import { refuseOnce } from './upgrade-refusals.ts'
import { appForEngine } from './uws-app.ts'

export interface GatewayOptions {
  /** The uWS application of the HTTP server, before its catch-all route is added. */
  readonly app: object
  /** Called with uWS's response before a request on this path is handled. */
  readonly onRequest: (response: object) => void
  /** Whether a page of this origin may connect. `hosts` returns the names of this server in the request. */
  readonly allowsOrigin: (origin: string, hosts: () => { host: string; forwarded: string }) => boolean
  readonly authenticator: Authenticator
  /** Limits the rate of refused credentials. */
  readonly limiter: RateLimiter
  readonly access: AccessSource
  readonly memberships: Memberships
  /** Finds the workspace of what a user has open. */
  readonly owners: ViewersOptions['owners']
  readonly sql: Sql
  readonly viewing: ClientMessagesOptions['viewing']
  /** Runs the operations that clients call. */
  readonly calls: SocketCalls
  /** How many proxies in front of this server add to X-Forwarded-For. */
  readonly trustedProxies: number
  /** Whether clients may use polling instead of WebSocket. */
  readonly polling: boolean
  /** Sockets get an event for each service that is switched off or on. */
  readonly switches: WatchedSwitches
  readonly eventTypes: ReadonlyMap<string, EventType>
  readonly coordination: Coordination
  /** Subscribes to revoked credentials. The listener runs after the authenticator has been updated. */
  readonly onCredentials: (listener: () => void) => () => void
  /** Subscribes to changes of members, roles or groups. Undefined stands for all workspaces. */
  readonly onMembers: (listener: (workspaceId: string | undefined) => void) => () => void
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Registry
}

/** A connection of engine.io with the request that opened it. */
type RequestedConnection = EngineConnection & {
  readonly remoteAddress: string
  readonly request: { readonly headers: Readonly<Record<string, string | undefined>> }
}

const CHECK_EVERY_MS = 1_000
/** How long to wait for calls in progress when the node stops. */
const DRAIN_MS = 5_000

/**
 * The sockets. A client connects with a credential and receives the events of the user's workspaces that its scopes
 * allow. Committed events of all nodes arrive through coordination.
 */
export class Gateway {
  readonly #options: GatewayOptions
  // oxlint-disable-next-line typescript/no-explicit-any -- events of clients are checked by hand
  readonly #io: Server<any, any, any, SocketData>
  readonly #rooms: RoomPublisher
  readonly #users: ConnectedUsers
  readonly #messages: ClientMessages
  readonly #viewers: Viewers
  /** The presence of users on all nodes. */
  readonly presence: Presence
  readonly #stalled: StalledReaders
  readonly #unauthenticated: UnauthenticatedConnections
  readonly #entering = new ConcurrencyLimit(SOCKET_LIMITS.entering)
  readonly #timer: NodeJS.Timeout
  readonly #ends: (() => void)[]
  readonly #counts: GatewayCounts
  /** Tallied, because after an outage many sockets fail for the same reason. */
  readonly #failures: TallyLog
  #draining = false

  constructor(options: GatewayOptions) {
    this.#options = options
    const { access, app, clock, coordination, eventTypes, log, metrics } = options
    this.#rooms = new RoomPublisher(app)
    this.#failures = new TallyLog(log)
    this.#users = new ConnectedUsers(access, eventTypes.values(), log)
    this.#viewers = new Viewers({
      memberships: options.memberships,
      owners: options.owners,
      coordination,
      clock,
      whenRoomsCurrent: (workspaceId, action) => this.#users.whenRoomsCurrent(workspaceId, action),
    })
    this.#messages = new ClientMessages({
      authenticate: (socket, credential) => this.#authenticate(socket, credential),
      calls: options.calls,
      viewing: options.viewing,
      typing: new Typing({
        channels: access.channels,
        memberships: options.memberships,
        switches: options.switches,
        coordination,
        clock,
        whenRoomsCurrent: (workspaceId, action) => this.#users.whenRoomsCurrent(workspaceId, action),
      }),
      viewers: this.#viewers,
      onPresence: (socket, isAway) => {
        socket.data.isAway = isAway
        this.#updatePresence(socket)
      },
      onRenewed: (userId) => this.#users.refresh(userId),
      trustedProxies: options.trustedProxies,
      failures: this.#failures,
    })
    this.presence = new Presence({
      sql: options.sql,
      coordination,
      clock,
      log,
      onChange: (changes) => void this.#announce(changes),
    })
    this.#stalled = new StalledReaders(clock)
    this.#unauthenticated = new UnauthenticatedConnections(clock)
    this.#io = this.#serve(app)
    this.#counts = measure(
      metrics,
      () => this.#io.engine.clientsCount,
      () => this.#users.userCount,
    )
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS)
    this.#timer.unref()
    this.#ends = [
      coordination.subscribe('ev:*', (events) => this.#receive(events as readonly WorkspaceEvent[])),
      coordination.subscribe('personal:*', (message) => this.#deliverPersonally(message as PersonalMessage)),
      options.onMembers((workspaceId) => this.#accessChanged(workspaceId)),
      options.access.channels.onChange((workspaceId) => this.#accessChanged(workspaceId)),
      coordination.subscribe('missed:*', (_, channel) => this.#missed(channel.slice('missed:'.length))),
      options.onCredentials(() => this.#check()),
      options.switches.onChange((service) => this.#io.local.emit(SERVICE_UPDATED, service)),
      coordination.onRecovered(() => {
        this.#check()
        // Notices of other nodes may have been lost in the meantime.
        this.#io.local.emit('missed', this.#now())
      }),
    ]
  }

  /** Refuses new sockets and calls, completes calls in progress, and closes all sockets. */
  async close(): Promise<void> {
    this.#draining = true
    await this.#messages.drain(DRAIN_MS)
    clearInterval(this.#timer)
    for (const end of this.#ends) end()
    this.#viewers.close()
    for (const socket of this.#users.all()) socket.emit('closing', { code: ShuttingDown.code })
    this.#io.disconnectSockets(true)
    await this.presence.close()
    await this.#io.close()
  }

  #serve(app: object) {
    const io = new Server<never, never, never, SocketData>({
      serveClient: false,
      transports: this.#options.polling ? ['polling', 'websocket'] : ['websocket'],
      maxHttpBufferSize: SOCKET_LIMITS.messageBytes,
      connectTimeout: SOCKET_LIMITS.authenticateWithinMs,
      pingInterval: 25_000,
      pingTimeout: 20_000,
      // Pages of other origins may read the replies, so that they learn why they are refused.
      cors: { origin: true },
      allowRequest: (_request, decide) => {
        const full = this.#draining || io.engine.clientsCount >= SOCKET_LIMITS.perNode
        decide(full ? 'the server is full or stopping: try again in a moment' : null, !full)
      },
    })
    io.attachApp(appForEngine(app, this.#options), { maxBackpressure: SOCKET_LIMITS.waitingBytesHard } as never)
    refuseOnce(io.engine)
    io.engine.on('connection', (connection: RequestedConnection) => this.#watch(connection))
    keepFastPath(io.of('/').adapter)
    io.use((socket, next) => void this.#authorize(socket, next))
    io.on('connection', (socket) => this.#join(socket as unknown as UserSocket))
    return io
  }

  #watch(connection: RequestedConnection): void {
    const { remoteAddress, request } = connection
    const forwarded = request.headers['x-forwarded-for'] ?? ''
    this.#unauthenticated.watch(connection, clientAddress(remoteAddress, forwarded, this.#options.trustedProxies))
  }

  async #authorize(socket: UserSocket, next: (refused?: Error) => void): Promise<void> {
    try {
      stopConnectTimer(socket)
      // Not checked in the handshake, because browsers do not tell a page why opening a WebSocket failed.
      if (!this.#allowsOrigin(socket)) throw OriginNotAllowed()
      await this.#entering.run(() => this.#enter(socket))
    } catch (error) {
      this.#unauthenticated.refused(socket.conn)
      next(refusal(error, this.#failures))
      return
    }
    next()
  }

  #allowsOrigin({ handshake: { headers } }: UserSocket): boolean {
    const hosts = () => ({ host: headers.host ?? '', forwarded: String(headers['x-forwarded-host'] ?? '') })
    return this.#options.allowsOrigin(headers.origin ?? '', hosts)
  }

  /** Authenticates a socket and adds it to its rooms. @throws AppError when it is refused */
  async #enter(socket: UserSocket): Promise<void> {
    // Closed while it waited.
    if (socket.conn.readyState !== 'open') throw ShuttingDown()
    const credential = credentialOf((socket.handshake.auth as { token?: unknown }).token)
    const caller = await this.#authenticate(socket, credential)
    if (!caller.emailVerified) throw EmailUnverified()
    this.#options.authenticator.used(caller, () => addressOf(socket, this.#options.trustedProxies))
    socket.data = { caller, credential, isAway: false }
    // The socket joins its rooms before the client is notified that it is connected, so that it misses no event.
    await this.#users.enter(socket, () => {
      if (this.#users.socketsOf(caller.userId).size >= SOCKET_LIMITS.perUser) throw TooManySockets()
      // Closed in the meantime. There is no later event that would remove it.
      if (socket.conn.readyState !== 'open') throw ShuttingDown()
    })
    socket.once('disconnect', () => this.#leave(socket))
    socket.conn.once('close', () => this.#leave(socket))
    this.#updatePresence(socket)
  }

  async #authenticate(socket: UserSocket, credential: Credential): Promise<Caller> {
    const { authenticator, limiter, trustedProxies } = this.#options
    try {
      return await authenticator.authenticate(credential)
    } catch (error) {
      return refuseCredential(limiter, addressOf(socket, trustedProxies), error)
    }
  }

  #join(socket: UserSocket): void {
    this.#unauthenticated.authenticated(socket.conn, () => this.#disconnect(socket, 'too_many_messages'))
    this.#rooms.join(socket)
    this.#messages.join(socket)
    for (const service of this.#options.switches.off()) socket.emit(SERVICE_UPDATED, service satisfies ServiceStatus)
  }

  #accessChanged(workspaceId: string | undefined): void {
    const work = workspaceId === undefined ? this.#users.allChanged() : this.#users.workspaceChanged(workspaceId)
    work.catch((error: unknown) =>
      this.#options.log.error({ error, workspaceId }, 'cannot update the rooms of sockets'),
    )
  }

  #receive(events: readonly WorkspaceEvent[]): void {
    const workspaceId = events[0]?.workspaceId
    if (workspaceId === undefined) return
    this.#users.whenRoomsCurrent(workspaceId, () => {
      for (const event of events) this.#deliver(event)
    })
  }

  #deliver(event: WorkspaceEvent): void {
    const type = this.#options.eventTypes.get(event.type)
    if (type === undefined) return
    const { at, channel, data, seq, user, workspaceId } = event
    const message = type.stored === false ? data : { seq, type: event.type, workspaceId, at, data }
    const scoped = scopeRoom(workspaceId, event.scope ?? type.scope)
    if (user !== undefined) {
      for (const socket of this.#users.socketsOf(user)) if (socket.rooms.has(scoped)) socket.emit(event.type, message)
      return
    }
    const room = channel === undefined ? scoped : channelRoom(workspaceId, channel)
    if (!this.#io.of('/').adapter.rooms.has(room)) return
    this.#counts.events.inc()
    this.#rooms.emit(room, event.type, message)
  }

  #deliverPersonally({ data, type, userId }: PersonalMessage): void {
    if (this.#options.eventTypes.get(type)?.personal !== true) return
    for (const socket of this.#users.socketsOf(userId)) {
      if (!isLimited(socket.data.caller)) socket.emit(type, data)
    }
  }

  /** A node may have died between a commit and its announcement. */
  #missed(workspaceId: string): void {
    this.#users.whenRoomsCurrent(workspaceId, () => {
      this.#io.local.to(workspaceRoom(workspaceId)).emit('missed', this.#now())
    })
  }

  #now(): { at: string } {
    return { at: new Date(this.#options.clock.now()).toISOString() }
  }

  /** Closes sockets whose credential is no longer valid. Runs every second, and when a credential is revoked. */
  #check(): void {
    for (const socket of this.#users.all()) {
      if (this.#stalled.isStalled(socket)) this.#disconnect(socket, 'too_slow')
      else this.#checkCredential(socket)
    }
    void this.#retryStale()
  }

  /** Notifies users whose memberships could not be read that they missed events: they were in no room. */
  async #retryStale(): Promise<void> {
    for (const userId of await this.#users.retryStale()) {
      for (const socket of this.#users.socketsOf(userId)) socket.emit('missed', this.#now())
    }
  }

  #checkCredential(socket: UserSocket): void {
    const { credential } = socket.data
    const failed = (error: unknown) => {
      // An unreachable database does not mean that the credential is invalid.
      if (!(error instanceof AppError) || error.status !== 401 || socket.data.credential !== credential) return
      this.#disconnect(socket, error.code)
    }
    try {
      const found = this.#options.authenticator.authenticate(credential)
      if (found instanceof Promise) found.then((caller) => this.#updateCaller(socket, credential, caller), failed)
      else this.#updateCaller(socket, credential, found)
    } catch (error) {
      failed(error)
    }
  }

  /** Updates the caller of a socket. The limits of its API key, or its second factor, may have changed. */
  #updateCaller(socket: UserSocket, credential: Credential, caller: Caller): void {
    if (caller === socket.data.caller || socket.data.credential !== credential) return
    socket.data.caller = caller
    void this.#users.refresh(caller.userId)
  }

  #disconnect(socket: UserSocket, reason: string): void {
    this.#counts.cut.inc({ reason })
    socket.emit('closing', { code: reason })
    socket.disconnect(true)
    this.#leave(socket)
  }

  #leave(socket: UserSocket): void {
    this.#users.leave(socket)
    this.#updatePresence(socket)
  }

  #updatePresence(socket: UserSocket): void {
    const { userId } = socket.data.caller
    const sockets = [...this.#users.socketsOf(userId)]
    const isAway = sockets.every(({ data }) => data.isAway)
    this.presence.set(userId, sockets.length === 0 ? undefined : isAway ? 'away' : 'online')
  }

  /** Sends changes of presence to the sockets of this node. All nodes know the same changes. */
  async #announce(changes: readonly PresenceChange[]): Promise<void> {
    if (this.#users.userCount === 0) return
    const { access, clock, log } = this.#options
    try {
      const workspaces = await access.workspacesOf(changes.map(({ userId }) => userId))
      const at = new Date(clock.now()).toISOString()
      for (const { lastSeenAt, state, userId } of changes) {
        for (const workspaceId of workspaces.get(userId) ?? []) {
          const data = { workspaceId, userId, presence: state, lastSeenAt }
          this.#receive([{ workspaceId, seq: 0, type: presenceChanged.name, data, at }])
        }
      }
    } catch (error) {
      log.warn({ error }, 'cannot announce changes of presence')
    }
  }
}

/** Stops socket.io's time limit for authentication. The client has sent its credential, and now waits for us. */
function stopConnectTimer(socket: UserSocket): void {
  clearTimeout((socket.client as unknown as { connectTimeout?: NodeJS.Timeout }).connectTimeout)
}

/**
 * `attachApp` changes the class of adapters for the whole process, and `close` changes it back. This adapter keeps its
 * own copy, so that two gateways in one process do not publish to each other's applications.
 */
function keepFastPath(adapter: object): void {
  for (const name of ['addAll', 'del', 'broadcast']) {
    Object.defineProperty(adapter, name, { value: Reflect.get(adapter, name) as unknown, configurable: true })
  }
}
