import { Server } from 'socket.io'
import type { Registry } from 'prom-client'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { clientAddress } from '../core/client-address.ts'
import { AppError } from '../core/error.ts'
import { EmailUnverified, OriginNotAllowed, ShuttingDown } from '../core/errors.ts'
import type { EventType, WorkspaceEvent } from '../core/event.ts'
import { TallyLog } from '../core/tally-log.ts'
import type { Logger } from '../core/log.ts'
import type { Authenticator, Credential, Memberships, RateLimiter } from '../core/ports.ts'
import { refuseCredential } from '../core/refused-credential.ts'
import type { SocketCalls } from '../core/socket-calls.ts'
import type { Sql } from '../core/sql.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { Broadcasts } from './broadcasts.ts'
import { Conversation } from './conversation.ts'
import { addressOf, credentialOf, refusal } from './credentials.ts'
import { TooManySockets } from './errors.ts'
import { presenceChanged } from './events.ts'
import { measure, type GatewayCounts } from './gateway-metrics.ts'
import { SOCKET_LIMITS } from './limits.ts'
import type { PeopleSource } from './people-source.ts'
import { People, type SocketData, type UserSocket } from './people.ts'
import { Presence, type PresenceChange } from './presence.ts'
import { channelRoom, scopeRoom, workspaceRoom } from './rooms.ts'
import { StalledReaders } from './stalled-readers.ts'
import { Strangers, type EngineConnection } from './strangers.ts'
import { Turnstile } from './turnstile.ts'
import { Typing } from './typing.ts'
import { refuseOnce } from './upgrade-refusals.ts'
import { appForEngine } from './uws-app.ts'

export interface GatewayOptions {
  /** The uWS application of the HTTP server, its catch-all route not yet set. */
  readonly app: object
  /** Whether a page of this origin may connect; `hosts` are the names that its request gives for this server. */
  readonly allowsOrigin: (origin: string, hosts: () => { host: string; forwarded: string }) => boolean
  readonly authenticator: Authenticator
  /** Counts credentials that are refused. */
  readonly limiter: RateLimiter
  readonly people: PeopleSource
  readonly memberships: Memberships
  readonly sql: Sql
  /** Runs what clients call. */
  readonly calls: SocketCalls
  /** Proxies in front of this server that add to X-Forwarded-For. */
  readonly trustedProxies: number
  /** Whether clients without WebSocket may poll. */
  readonly polling: boolean
  readonly eventTypes: ReadonlyMap<string, EventType>
  readonly coordination: Coordination
  /** Calls back when a credential was revoked, after the authenticator has heard of it. */
  readonly onCredentials: (listener: () => void) => () => void
  /** Calls back when members, roles or groups of a workspace have changed; undefined: of any. */
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
/** How long calls that are under way may take when the node stops. */
const DRAIN_MS = 5_000

/**
 * The sockets: who connects with a credential hears the events of their workspaces, as far as their scopes go. Events
 * come from the coordination port after their commit, on whichever node they were made.
 */
export class Gateway {
  readonly #options: GatewayOptions
  // oxlint-disable-next-line typescript/no-explicit-any -- events of clients are checked by hand
  readonly #io: Server<any, any, any, SocketData>
  readonly #broadcasts: Broadcasts
  readonly #people: People
  readonly #conversation: Conversation
  /** Who is there, on all nodes. */
  readonly presence: Presence
  readonly #stalled: StalledReaders
  readonly #strangers: Strangers
  readonly #entrance = new Turnstile(SOCKET_LIMITS.entering)
  readonly #timer: NodeJS.Timeout
  readonly #ends: (() => void)[]
  readonly #counts: GatewayCounts
  /** Everybody’s socket comes again when one of them fails to be admitted. */
  readonly #failures: TallyLog
  #draining = false

  constructor(options: GatewayOptions) {
    this.#options = options
    const { app, clock, coordination, eventTypes, log, metrics, people } = options
    this.#broadcasts = new Broadcasts(app)
    this.#failures = new TallyLog(log)
    this.#people = new People(people, eventTypes.values(), log)
    this.#conversation = new Conversation({
      authenticate: (socket, credential) => this.#authenticate(socket, credential),
      calls: options.calls,
      typing: new Typing({
        channels: people.channels,
        memberships: options.memberships,
        coordination,
        clock,
        whenPlaced: (workspaceId, action) => this.#people.whenPlaced(workspaceId, action),
      }),
      onPresence: (socket, isAway) => {
        socket.data.isAway = isAway
        this.#tellPresence(socket)
      },
      onRenewed: (userId) => this.#people.refresh(userId),
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
    this.#strangers = new Strangers(clock)
    this.#io = this.#serve(app)
    this.#counts = measure(
      metrics,
      () => this.#io.engine.clientsCount,
      () => this.#people.userCount,
    )
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS)
    this.#timer.unref()
    this.#ends = [
      coordination.subscribe('ev:*', (events) => this.#receive(events as readonly WorkspaceEvent[])),
      options.onMembers((workspaceId) => this.#placesChanged(workspaceId)),
      options.people.channels.onChange((workspaceId) => this.#placesChanged(workspaceId)),
      coordination.subscribe('missed:*', (_, channel) => this.#missed(channel.slice('missed:'.length))),
      options.onCredentials(() => this.#check()),
      coordination.onRecovered(() => {
        this.#check()
        // What other nodes said meanwhile was not heard here.
        this.#io.local.emit('missed', this.#now())
      }),
    ]
  }

  /** Takes no more sockets and no more calls, answers those under way, and tells the sockets that are there to go. */
  async close(): Promise<void> {
    this.#draining = true
    await this.#conversation.drain(DRAIN_MS)
    clearInterval(this.#timer)
    for (const end of this.#ends) end()
    for (const socket of this.#people.all()) socket.emit('closing', { code: ShuttingDown.code })
    this.#io.disconnectSockets(true)
    await this.presence.close()
    await this.#io.close()
  }

  #serve(app: object) {
    const { polling } = this.#options
    const io = new Server<never, never, never, SocketData>({
      serveClient: false,
      transports: polling ? ['polling', 'websocket'] : ['websocket'],
      maxHttpBufferSize: SOCKET_LIMITS.messageBytes,
      connectTimeout: SOCKET_LIMITS.authenticateWithinMs,
      pingInterval: 25_000,
      pingTimeout: 20_000,
      // Pages of other origins may read answers, so that they learn why they are refused.
      cors: { origin: true },
      allowRequest: (_request, decide) => {
        const full = this.#draining || io.engine.clientsCount >= SOCKET_LIMITS.perNode
        decide(full ? 'the server is full or stops: try again in a moment' : null, !full)
      },
    })
    io.attachApp(appForEngine(app, { polling }), { maxBackpressure: SOCKET_LIMITS.waitingBytesHard } as never)
    refuseOnce(io.engine)
    io.engine.on('connection', (connection: RequestedConnection) => this.#greet(connection))
    keepFastPath(io.of('/').adapter)
    io.use((socket, next) => {
      void this.#admit(socket, next)
    })
    io.on('connection', (socket) => this.#welcome(socket as unknown as UserSocket))
    return io
  }

  #greet(connection: RequestedConnection): void {
    const { remoteAddress, request } = connection
    const forwarded = request.headers['x-forwarded-for'] ?? ''
    this.#strangers.greet(connection, clientAddress(remoteAddress, forwarded, this.#options.trustedProxies))
  }

  async #admit(socket: UserSocket, next: (refused?: Error) => void): Promise<void> {
    try {
      patience(socket)
      // Not in the handshake: browsers do not tell a page why a WebSocket could not be opened.
      if (!this.#allowsOrigin(socket)) throw OriginNotAllowed()
      await this.#entrance.pass(() => this.#enter(socket))
    } catch (error) {
      this.#strangers.refused(socket.conn)
      next(refusal(error, this.#failures))
      return
    }
    next()
  }

  #allowsOrigin({ handshake: { headers } }: UserSocket): boolean {
    const hosts = () => ({ host: headers.host ?? '', forwarded: String(headers['x-forwarded-host'] ?? '') })
    return this.#options.allowsOrigin(headers.origin ?? '', hosts)
  }

  /** @throws AppError when the socket may not come in */
  async #enter(socket: UserSocket): Promise<void> {
    // Gone while it waited in line.
    if (socket.conn.readyState !== 'open') throw ShuttingDown()
    const credential = credentialOf((socket.handshake.auth as { token?: unknown }).token)
    const caller = await this.#authenticate(socket, credential)
    if (!caller.emailVerified) throw EmailUnverified()
    this.#options.authenticator.used(caller, () => addressOf(socket, this.#options.trustedProxies))
    socket.data = { caller, credential, isAway: false }
    // In the rooms before the client is told that it is connected: from then on it misses nothing.
    await this.#people.enter(socket, () => {
      if (this.#people.socketsOf(caller.userId).size >= SOCKET_LIMITS.perUser) throw TooManySockets()
      // Gone while it was looked at: nothing would tell us again.
      if (socket.conn.readyState !== 'open') throw ShuttingDown()
    })
    socket.once('disconnect', () => this.#leave(socket))
    socket.conn.once('close', () => this.#leave(socket))
    this.#tellPresence(socket)
  }

  async #authenticate(socket: UserSocket, credential: Credential): Promise<Caller> {
    const { authenticator, limiter, trustedProxies } = this.#options
    try {
      return await authenticator.authenticate(credential)
    } catch (error) {
      return refuseCredential(limiter, addressOf(socket, trustedProxies), error)
    }
  }

  #welcome(socket: UserSocket): void {
    this.#strangers.admitted(socket.conn, () => this.#cut(socket, 'too_many_messages'))
    this.#broadcasts.join(socket)
    this.#conversation.join(socket)
  }

  #placesChanged(workspaceId: string | undefined): void {
    const work = workspaceId === undefined ? this.#people.allChanged() : this.#people.workspaceChanged(workspaceId)
    work.catch((error: unknown) =>
      this.#options.log.error({ error, workspaceId }, 'rooms could not be brought up to date'),
    )
  }

  #receive(events: readonly WorkspaceEvent[]): void {
    const workspaceId = events[0]?.workspaceId
    if (workspaceId === undefined) return
    this.#people.whenPlaced(workspaceId, () => {
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
      for (const socket of this.#people.socketsOf(user)) if (socket.rooms.has(scoped)) socket.emit(event.type, message)
      return
    }
    const room = channel === undefined ? scoped : channelRoom(workspaceId, channel)
    if (!this.#io.of('/').adapter.rooms.has(room)) return
    this.#counts.events.inc()
    this.#broadcasts.emit(room, event.type, message)
  }

  /** A node died between a commit and what it had to say of it. */
  #missed(workspaceId: string): void {
    this.#people.whenPlaced(workspaceId, () => {
      this.#io.local.to(workspaceRoom(workspaceId)).emit('missed', this.#now())
    })
  }

  #now(): { at: string } {
    return { at: new Date(this.#options.clock.now()).toISOString() }
  }

  /** Every second, and whenever a credential was revoked: nobody stays whose credential does not hold any more. */
  #check(): void {
    for (const socket of this.#people.all()) {
      if (this.#stalled.isStalled(socket)) this.#cut(socket, 'too_slow')
      else this.#checkCredential(socket)
    }
    void this.#retryStale()
  }

  /** Those whose memberships could not be read were in no room meanwhile. */
  async #retryStale(): Promise<void> {
    for (const userId of await this.#people.retryStale()) {
      for (const socket of this.#people.socketsOf(userId)) socket.emit('missed', this.#now())
    }
  }

  #checkCredential(socket: UserSocket): void {
    const { credential } = socket.data
    const failed = (error: unknown) => {
      // A database that is away says nothing about the credential.
      if (!(error instanceof AppError) || error.status !== 401 || socket.data.credential !== credential) return
      this.#cut(socket, error.code)
    }
    try {
      const found = this.#options.authenticator.authenticate(credential)
      if (found instanceof Promise) found.then((caller) => this.#recognize(socket, credential, caller), failed)
      else this.#recognize(socket, credential, found)
    } catch (error) {
      failed(error)
    }
  }

  /** The API key of a socket may have other limits by now. */
  #recognize(socket: UserSocket, credential: Credential, caller: Caller): void {
    if (caller === socket.data.caller || socket.data.credential !== credential) return
    socket.data.caller = caller
    if (caller.apiKey) void this.#people.refresh(caller.userId)
  }

  #cut(socket: UserSocket, reason: string): void {
    this.#counts.cut.inc({ reason })
    socket.emit('closing', { code: reason })
    socket.disconnect(true)
    this.#leave(socket)
  }

  #leave(socket: UserSocket): void {
    this.#people.leave(socket)
    this.#tellPresence(socket)
  }

  #tellPresence(socket: UserSocket): void {
    const { userId } = socket.data.caller
    const sockets = [...this.#people.socketsOf(userId)]
    const isAway = sockets.every(({ data }) => data.isAway)
    this.presence.set(userId, sockets.length === 0 ? undefined : isAway ? 'away' : 'online')
  }

  /** Each node tells its own sockets: all of them know the same. */
  async #announce(changes: readonly PresenceChange[]): Promise<void> {
    if (this.#people.userCount === 0) return
    const { clock, log, people } = this.#options
    try {
      const workspaces = await people.workspacesOf(changes.map(({ userId }) => userId))
      const at = new Date(clock.now()).toISOString()
      for (const { lastSeenAt, state, userId } of changes) {
        for (const workspaceId of workspaces.get(userId) ?? []) {
          const data = { workspaceId, userId, presence: state, lastSeenAt }
          this.#receive([{ workspaceId, seq: 0, type: presenceChanged.name, data, at }])
        }
      }
    } catch (error) {
      log.warn({ error }, 'who has come or gone could not be told')
    }
  }
}

/** The limit of time is for those who do not say who they are: this one has, and waits for us. */
function patience(socket: UserSocket): void {
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
