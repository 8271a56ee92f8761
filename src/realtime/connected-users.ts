import type { Socket } from 'socket.io'
import type { Caller } from '../core/caller.ts'
import type { EventType } from '../core/event.ts'
import type { Logger } from '../core/log.ts'
import { withinKey } from '../core/key-limits.ts'
import type { Credential } from '../core/ports.ts'
import type { Scope } from '../core/scope.ts'
import type { ViewedResource } from '../core/viewing.ts'
import { accessIn, accessOf, type AccessSource } from './access-source.ts'
import { roomsOf, userRoom, workspaceRoom, type Access } from './rooms.ts'

/** The data of a socket. */
export interface SocketData {
  caller: Caller
  credential: Credential
  isAway: boolean
  /** What the client has said that it shows. */
  viewing?: readonly ViewedResource[]
}

// oxlint-disable-next-line typescript/no-explicit-any -- events of clients are checked by hand
export type UserSocket = Socket<any, any, any, SocketData>

/** A read of a user's access in progress, and the workspaces that have changed since it began. */
interface Reading {
  readonly changed: Set<string>
  allChanged: boolean
}

/** An update in progress of the rooms of a workspace. */
interface Move {
  /** Actions that wait until the rooms are current. */
  readonly waiting: (() => void)[]
  again: boolean
}

const NO_SOCKETS: ReadonlySet<UserSocket> = new Set()
const NO_ROOMS: ReadonlySet<string> = new Set()

/**
 * The users who are connected to this node, and the rooms of their sockets. Rooms follow from memberships, scopes and
 * channels. After a notice that these may have changed, the events of the workspace wait until they were read again, so
 * that a removed member receives none and a new member misses none. If reading fails, the sockets leave the rooms.
 */
export class ConnectedUsers {
  readonly #source: AccessSource
  readonly #scopes: readonly Scope[]
  readonly #log: Logger
  readonly #sockets = new Map<string, Set<UserSocket>>()
  readonly #readings = new Set<Reading>()
  readonly #moves = new Map<string, Move>()
  /** Users whose rooms could not be updated. */
  readonly #stale = new Set<string>()

  /** @param events all event types. Rooms exist only for the scopes that they require */
  constructor(source: AccessSource, events: Iterable<EventType>, log: Logger) {
    this.#source = source
    this.#scopes = [...new Set([...events].flatMap((type) => [type.scope, ...(type.otherScopes ?? [])]))]
    this.#log = log
  }

  get userCount(): number {
    return this.#sockets.size
  }

  socketsOf(userId: string): ReadonlySet<UserSocket> {
    return this.#sockets.get(userId) ?? NO_SOCKETS
  }

  /** Every connected socket. */
  *all(): Iterable<UserSocket> {
    for (const sockets of this.#sockets.values()) yield* sockets
  }

  /**
   * Adds a socket to all rooms of its user.
   * @param mayEnter a last check right before; throws to refuse the socket
   */
  async enter(socket: UserSocket, mayEnter: () => void): Promise<void> {
    const { userId } = socket.data.caller
    await this.#withAccess(userId, (access) => {
      mayEnter()
      const sockets = this.#sockets.get(userId) ?? new Set()
      this.#sockets.set(userId, sockets.add(socket))
      void socket.join([userRoom(userId), ...this.#rooms(access.values(), socket)])
    })
  }

  leave(socket: UserSocket): void {
    const { userId } = socket.data.caller
    const sockets = this.#sockets.get(userId)
    sockets?.delete(socket)
    if (sockets?.size === 0) this.#sockets.delete(userId)
  }

  /** Runs an action when the rooms of a workspace are current: now, or after the update in progress. */
  whenRoomsCurrent(workspaceId: string, action: () => void): void {
    const move = this.#moves.get(workspaceId)
    if (move) move.waiting.push(action)
    else action()
  }

  /** Updates the rooms of a workspace after a change of its members, roles, groups or channels. */
  async workspaceChanged(workspaceId: string): Promise<void> {
    for (const reading of this.#readings) reading.changed.add(workspaceId)
    const under = this.#moves.get(workspaceId)
    if (under) {
      under.again = true
      return
    }
    const moving: Move = { waiting: [], again: false }
    this.#moves.set(workspaceId, moving)
    try {
      await this.#moveAll(workspaceId, moving)
    } finally {
      this.#moves.delete(workspaceId)
      for (const action of moving.waiting) action()
    }
  }

  /** Updates all rooms, after notices may have been missed. */
  async allChanged(): Promise<void> {
    for (const reading of this.#readings) reading.allChanged = true
    const workspaces = new Set<string>()
    for (const socket of this.all()) for (const id of workspacesOf(socket)) workspaces.add(id)
    await Promise.all([...workspaces].map((id) => this.workspaceChanged(id)))
    // Workspaces that a user may have joined in the meantime.
    for (const userId of this.#sockets.keys()) await this.refresh(userId)
  }

  /** Tries again for users whose memberships could not be read. @returns the users for whom it succeeded */
  async retryStale(): Promise<string[]> {
    const stale = [...this.#stale]
    this.#stale.clear()
    const recovered: string[] = []
    for (const userId of stale) if (await this.refresh(userId)) recovered.push(userId)
    return recovered
  }

  /** Reads a user's memberships again and moves their sockets. @returns whether they could be read */
  async refresh(userId: string): Promise<boolean> {
    try {
      await this.#withAccess(userId, (access) => {
        for (const socket of this.socketsOf(userId)) {
          move(socket, 'workspace:', new Set(this.#rooms(access.values(), socket)))
        }
      })
      return true
    } catch (error) {
      this.#log.warn({ error, userId }, 'cannot read the memberships of a connected user')
      this.#stale.add(userId)
      for (const socket of this.socketsOf(userId)) move(socket, 'workspace:', NO_ROOMS)
      return false
    }
  }

  /** Reads the access of a user until nothing changes during the read, then acts on it. Old data is never used. */
  async #withAccess(userId: string, act: (access: ReadonlyMap<string, Access>) => void): Promise<void> {
    const reading: Reading = { changed: new Set(), allChanged: true }
    let access = new Map<string, Access>()
    this.#readings.add(reading)
    try {
      while (reading.allChanged || reading.changed.size > 0) {
        const changed = [...reading.changed]
        reading.changed.clear()
        if (reading.allChanged) {
          reading.allChanged = false
          access = await accessOf(this.#source, userId)
          continue
        }
        for (const workspaceId of changed) {
          const one = (await accessIn(this.#source, workspaceId, [userId])).get(userId)
          if (one) access.set(workspaceId, one)
          else access.delete(workspaceId)
        }
      }
      act(access)
    } finally {
      this.#readings.delete(reading)
    }
  }

  async #moveAll(workspaceId: string, moving: Move): Promise<void> {
    let access: ReadonlyMap<string, Access> = new Map()
    let users: string[] = []
    do {
      moving.again = false
      users = [...this.#sockets.keys()]
      if (users.length === 0) return
      try {
        access = await accessIn(this.#source, workspaceId, users)
      } catch (error) {
        access = new Map()
        this.#log.warn(
          { error, workspaceId },
          'cannot read the members of a workspace: their sockets have left its rooms',
        )
        for (const userId of users) this.#stale.add(userId)
      }
    } while (moving.again)
    for (const userId of users) {
      const one = access.get(userId)
      for (const socket of this.socketsOf(userId)) {
        move(socket, workspaceRoom(workspaceId), new Set(one ? this.#rooms([one], socket) : []))
      }
    }
  }

  /** The rooms of a socket, limited by its API key. */
  #rooms(access: Iterable<Access>, { data }: UserSocket): string[] {
    return [...access].flatMap(({ channels, member: whole }) => {
      const member = withinKey(whole, data.caller)
      return member === undefined ? [] : roomsOf({ member, channels }, this.#scopes)
    })
  }
}

/** Leaves rooms before joining others, so that no event reaches a room that the socket must leave. */
function move(socket: UserSocket, prefix: string, wanted: ReadonlySet<string>): void {
  const left = [...socket.rooms].filter((room) => room.startsWith(prefix) && !wanted.has(room))
  for (const room of left) void socket.leave(room)
  const missing = [...wanted].filter((room) => !socket.rooms.has(room))
  if (missing.length > 0) void socket.join(missing)
}

function* workspacesOf(socket: UserSocket): Iterable<string> {
  for (const room of socket.rooms) {
    const id = /^workspace:([^:]+)$/.exec(room)?.[1]
    if (id !== undefined) yield id
  }
}
