import type { Socket } from 'socket.io'
import type { Caller, Member } from '../core/caller.ts'
import type { EventType } from '../core/event.ts'
import type { Logger } from '../core/log.ts'
import type { Credential, Memberships } from '../core/ports.ts'
import type { Scope } from '../core/scope.ts'

/** What is kept with a socket. */
export interface SocketData {
  caller: Caller
  credential: Credential
}

// oxlint-disable-next-line typescript/no-explicit-any -- events of clients are checked by hand
export type UserSocket = Socket<any, any, any, SocketData>

/** Where the people of a workspace are found. */
export interface PeopleSource {
  readonly memberships: Memberships
  /** Workspaces of which a user is a member. */
  workspacesOf(userId: string): Promise<readonly string[]>
  /** Which of these users are members of a workspace. */
  membersAmong(workspaceId: string, userIds: readonly string[]): Promise<readonly string[]>
}

export const userRoom = (userId: string): string => `user:${userId}`
export const workspaceRoom = (workspaceId: string): string => `workspace:${workspaceId}`
/** Those in a workspace who hold a scope: one room each, so that an event goes out with one broadcast. */
export const scopeRoom = (workspaceId: string, scope: Scope): string => `workspace:${workspaceId}:${scope}`

/**
 * Who is connected here, and in which rooms their sockets are. A room follows from a membership and its scopes; when
 * these change the sockets move at once, and when they cannot be read the sockets leave.
 */
export class People {
  readonly #source: PeopleSource
  readonly #scopes: readonly Scope[]
  readonly #log: Logger
  readonly #sockets = new Map<string, Set<UserSocket>>()
  /** What is being done to a user's rooms: one thing after the other, so that an older reading never wins. */
  readonly #queues = new Map<string, Promise<void>>()
  /** Users whose rooms could not be brought up to date. */
  readonly #stale = new Set<string>()

  /** @param events every event there is: only their scopes make rooms */
  constructor(source: PeopleSource, events: Iterable<EventType>, log: Logger) {
    this.#source = source
    this.#scopes = [...new Set([...events].map((type) => type.scope))]
    this.#log = log
  }

  get userCount(): number {
    return this.#sockets.size
  }

  socketsOf(userId: string): number {
    return this.#sockets.get(userId)?.size ?? 0
  }

  /** Every connected socket. */
  *all(): Iterable<UserSocket> {
    for (const sockets of this.#sockets.values()) yield* sockets
  }

  /** Who a user is in each workspace. */
  async membersOf(userId: string): Promise<Member[]> {
    const workspaces = await this.#source.workspacesOf(userId)
    const members = await Promise.all(workspaces.map(async (id) => this.#source.memberships.find(id, userId)))
    return members.filter((member) => member !== undefined)
  }

  /** Takes in a socket whose user's memberships were read before. */
  enter(socket: UserSocket, members: readonly Member[]): void {
    const { userId } = socket.data.caller
    const sockets = this.#sockets.get(userId) ?? new Set()
    this.#sockets.set(userId, sockets.add(socket))
    void socket.join([userRoom(userId), ...members.flatMap((member) => this.#roomsFor(member))])
  }

  leave(socket: UserSocket): void {
    const { userId } = socket.data.caller
    const sockets = this.#sockets.get(userId)
    sockets?.delete(socket)
    if (sockets?.size === 0) this.#sockets.delete(userId)
  }

  /** Members, roles or groups of a workspace have changed. */
  async workspaceChanged(workspaceId: string): Promise<void> {
    const inside = new Set<string>()
    const outside = new Set<string>()
    for (const [userId, sockets] of this.#sockets) {
      const isInside = [...sockets].some((socket) => socket.rooms.has(workspaceRoom(workspaceId)))
      ;(isInside ? inside : outside).add(userId)
    }
    const came = outside.size === 0 ? [] : await this.#among(workspaceId, [...outside])
    const affected = [...inside, ...came]
    await Promise.all(affected.map((userId) => this.#inOrder(userId, () => this.#sync(userId, workspaceId))))
  }

  /** Anything may have changed unheard: every user's rooms are made again. */
  async allChanged(): Promise<void> {
    for (const userId of this.#sockets.keys()) await this.refresh(userId)
  }

  /** Tries again for those whose memberships could not be read. */
  async retryStale(): Promise<void> {
    for (const userId of this.#stale) {
      this.#stale.delete(userId)
      await this.refresh(userId)
    }
  }

  /** Reads a user's memberships again and moves their sockets. */
  refresh(userId: string): Promise<void> {
    return this.#inOrder(userId, () => this.#refresh(userId))
  }

  #inOrder(userId: string, work: () => Promise<void>): Promise<void> {
    const before = this.#queues.get(userId) ?? Promise.resolve()
    const queued = before.then(work).finally(() => {
      if (this.#queues.get(userId) === queued) this.#queues.delete(userId)
    })
    this.#queues.set(userId, queued)
    return queued
  }

  async #refresh(userId: string): Promise<void> {
    let members: readonly Member[] = []
    try {
      members = await this.membersOf(userId)
    } catch (error) {
      this.#doubt(userId, error)
    }
    const wanted = new Set(members.flatMap((member) => this.#roomsFor(member)))
    for (const socket of this.#sockets.get(userId) ?? []) {
      this.#move(
        socket,
        [...socket.rooms].filter((room) => room.startsWith('workspace:')),
        wanted,
      )
    }
  }

  async #sync(userId: string, workspaceId: string): Promise<void> {
    let member: Member | undefined
    try {
      member = await this.#source.memberships.find(workspaceId, userId)
    } catch (error) {
      this.#doubt(userId, error)
    }
    const wanted = new Set(member ? this.#roomsFor(member) : [])
    for (const socket of this.#sockets.get(userId) ?? []) {
      this.#move(
        socket,
        [...socket.rooms].filter((room) => room.startsWith(workspaceRoom(workspaceId))),
        wanted,
      )
    }
  }

  async #among(workspaceId: string, userIds: readonly string[]): Promise<readonly string[]> {
    try {
      return await this.#source.membersAmong(workspaceId, userIds)
    } catch (error) {
      for (const userId of userIds) this.#doubt(userId, error)
      return []
    }
  }

  #move(socket: UserSocket, present: readonly string[], wanted: ReadonlySet<string>): void {
    for (const room of present) if (!wanted.has(room)) void socket.leave(room)
    const missing = [...wanted].filter((room) => !socket.rooms.has(room))
    if (missing.length > 0) void socket.join(missing)
  }

  #doubt(userId: string, error: unknown): void {
    this.#log.warn({ error, userId }, 'memberships of a connected user could not be read')
    this.#stale.add(userId)
  }

  #roomsFor({ workspaceId, scopes }: Member): string[] {
    const held = this.#scopes.filter((scope) => scopes.has(scope))
    return [workspaceRoom(workspaceId), ...held.map((scope) => scopeRoom(workspaceId, scope))]
  }
}
