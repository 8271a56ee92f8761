import type { Socket } from 'socket.io'
import type { Caller } from '../core/caller.ts'
import type { EventType } from '../core/event.ts'
import type { Logger } from '../core/log.ts'
import { withinKey } from '../core/key-limits.ts'
import type { Credential } from '../core/ports.ts'
import type { Scope } from '../core/scope.ts'
import { placesIn, placesOf, type PeopleSource } from './people-source.ts'
import { roomsOf, userRoom, workspaceRoom, type Place } from './rooms.ts'

/** What is kept with a socket. */
export interface SocketData {
  caller: Caller
  credential: Credential
  isAway: boolean
}

// oxlint-disable-next-line typescript/no-explicit-any -- events of clients are checked by hand
export type UserSocket = Socket<any, any, any, SocketData>

/** A reading of a user's places that is under way, and the workspaces that have changed since it began. */
interface Reading {
  readonly changed: Set<string>
  allChanged: boolean
}

/** A workspace whose sockets are being moved. */
interface Move {
  /** What must wait until they stand where they belong. */
  readonly waiting: (() => void)[]
  again: boolean
}

const NO_SOCKETS: ReadonlySet<UserSocket> = new Set()
const NO_ROOMS: ReadonlySet<string> = new Set()

/**
 * Who is connected here, and in which rooms their sockets are. A room follows from a membership, its scopes and its
 * channels. From the moment that these may have changed until they were read again, the workspace's events wait: none
 * reaches somebody who has just been removed, and none is missed by somebody who has just come. When they cannot be
 * read the sockets leave.
 */
export class People {
  readonly #source: PeopleSource
  readonly #scopes: readonly Scope[]
  readonly #log: Logger
  readonly #sockets = new Map<string, Set<UserSocket>>()
  readonly #readings = new Set<Reading>()
  readonly #moves = new Map<string, Move>()
  /** Users whose rooms could not be brought up to date. */
  readonly #stale = new Set<string>()

  /** @param events every event there is: only their scopes make rooms */
  constructor(source: PeopleSource, events: Iterable<EventType>, log: Logger) {
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
   * Takes in a socket, in all rooms of its user.
   * @param mayEnter asked at the last moment; throws when the socket may not come in after all
   */
  async enter(socket: UserSocket, mayEnter: () => void): Promise<void> {
    const { userId } = socket.data.caller
    await this.#withPlaces(userId, (places) => {
      mayEnter()
      const sockets = this.#sockets.get(userId) ?? new Set()
      this.#sockets.set(userId, sockets.add(socket))
      void socket.join([userRoom(userId), ...this.#rooms(places.values(), socket)])
    })
  }

  leave(socket: UserSocket): void {
    const { userId } = socket.data.caller
    const sockets = this.#sockets.get(userId)
    sockets?.delete(socket)
    if (sockets?.size === 0) this.#sockets.delete(userId)
  }

  /** Runs an action on the sockets of a workspace: now, or when they have been moved. */
  whenPlaced(workspaceId: string, action: () => void): void {
    const move = this.#moves.get(workspaceId)
    if (move) move.waiting.push(action)
    else action()
  }

  /** Members, roles, groups or channels of a workspace have changed. */
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

  /** Anything may have changed unheard: every user's rooms are made again. */
  async allChanged(): Promise<void> {
    for (const reading of this.#readings) reading.allChanged = true
    const workspaces = new Set<string>()
    for (const socket of this.all()) for (const id of workspacesOf(socket)) workspaces.add(id)
    await Promise.all([...workspaces].map((id) => this.workspaceChanged(id)))
    // Workspaces into which somebody came unheard.
    for (const userId of this.#sockets.keys()) await this.refresh(userId)
  }

  /** Tries again for those whose memberships could not be read. @returns the users for whom it went well */
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
      await this.#withPlaces(userId, (places) => {
        for (const socket of this.socketsOf(userId)) {
          move(socket, 'workspace:', new Set(this.#rooms(places.values(), socket)))
        }
      })
      return true
    } catch (error) {
      this.#log.warn({ error, userId }, 'memberships of a connected user could not be read')
      this.#stale.add(userId)
      for (const socket of this.socketsOf(userId)) move(socket, 'workspace:', NO_ROOMS)
      return false
    }
  }

  /** Reads until nothing has changed meanwhile, then acts at once: an older reading never wins. */
  async #withPlaces(userId: string, act: (places: ReadonlyMap<string, Place>) => void): Promise<void> {
    const reading: Reading = { changed: new Set(), allChanged: true }
    let places = new Map<string, Place>()
    this.#readings.add(reading)
    try {
      while (reading.allChanged || reading.changed.size > 0) {
        const changed = [...reading.changed]
        reading.changed.clear()
        if (reading.allChanged) {
          reading.allChanged = false
          places = await placesOf(this.#source, userId)
          continue
        }
        for (const workspaceId of changed) {
          const place = (await placesIn(this.#source, workspaceId, [userId])).get(userId)
          if (place) places.set(workspaceId, place)
          else places.delete(workspaceId)
        }
      }
      act(places)
    } finally {
      this.#readings.delete(reading)
    }
  }

  async #moveAll(workspaceId: string, moving: Move): Promise<void> {
    let places: ReadonlyMap<string, Place> = new Map()
    let users: string[] = []
    do {
      moving.again = false
      users = [...this.#sockets.keys()]
      if (users.length === 0) return
      try {
        places = await placesIn(this.#source, workspaceId, users)
      } catch (error) {
        places = new Map()
        this.#log.warn({ error, workspaceId }, 'members of a workspace could not be read: their sockets have left it')
        for (const userId of users) this.#stale.add(userId)
      }
    } while (moving.again)
    for (const userId of users) {
      const place = places.get(userId)
      for (const socket of this.socketsOf(userId)) {
        move(socket, workspaceRoom(workspaceId), new Set(place ? this.#rooms([place], socket) : []))
      }
    }
  }

  /** What a socket hears of its user's places: no more than its API key may. */
  #rooms(places: Iterable<Place>, { data }: UserSocket): string[] {
    return [...places].flatMap(({ channels, member: whole }) => {
      const member = withinKey(whole, data.caller)
      return member === undefined ? [] : roomsOf({ member, channels }, this.#scopes)
    })
  }
}

/** Leaves first, so that between the two nothing reaches a room that is no longer held. */
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
