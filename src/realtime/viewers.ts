import type { Clock } from '../core/clock.ts'
import { NotFound, ValidationFailed } from '../core/errors.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import { withinKey } from '../core/key-limits.ts'
import type { Memberships, Owners } from '../core/ports.ts'
import type { Static } from '../core/schema.ts'
import type { Scope } from '../core/scope.ts'
import { validator } from '../core/validate.ts'
import type { Coordination } from '../coordination/coordination.ts'
import type { UserSocket } from './connected-users.ts'
import { viewerUpdated, type ViewerStatus } from './events.ts'
import { VIEWER_LIMITS } from './limits.ts'
import { ViewerMessage } from './protocol.ts'

export interface ViewersOptions {
  readonly memberships: Memberships
  readonly owners: Pick<Owners, 'workspaceOf'>
  readonly coordination: Coordination
  readonly clock: Clock
  /** Calls back as soon as the sockets of a workspace are in their current rooms. */
  readonly whenRoomsCurrent: (workspaceId: string, action: () => void) => void
}

type Message = Static<typeof ViewerMessage>
type Kind = Message['kind']

/** The table and the scope of each kind. */
const KINDS: Readonly<Record<Kind, { readonly table: string; readonly scope: Scope }>> = {
  post: { table: 'posts', scope: 'posts:read' },
  stream: { table: 'streams', scope: 'streams:read' },
  asset: { table: 'assets', scope: 'media:read' },
}

/** Somebody who has something open. */
interface Viewer {
  readonly userId: string
  readonly status: Exclude<ViewerStatus, 'gone'>
  /** Monotonic milliseconds. */
  readonly until: number
  readonly announcedAt: number
}

/** What nodes tell each other. */
interface ViewerNotice {
  readonly key: string
  readonly userId: string
  readonly status: ViewerStatus
}

const CHANNEL = 'viewers'
const check = validator(ViewerMessage, '/viewer')

/**
 * Who has a post, a stream or a file open, on all nodes. Clients repeat it, so that it ends by itself when a client or a
 * node dies. Nothing is stored.
 */
export class Viewers {
  readonly #options: ViewersOptions
  /** By resource, then by user. */
  readonly #viewers = new Map<string, Map<string, Viewer>>()
  /** What the sockets of this node have open. */
  readonly #open = new Map<UserSocket, Map<string, Message>>()
  readonly #ends: (() => void)[]

  constructor(options: ViewersOptions) {
    this.#options = options
    const timer = setInterval(() => this.#expire(), VIEWER_LIMITS.expireEveryMs).unref()
    this.#ends = [
      () => clearInterval(timer),
      options.coordination.subscribe(CHANNEL, (notice) => this.#hear(notice as ViewerNotice)),
    ]
  }

  /**
   * Announces what the user of a socket does with a resource.
   * @returns who else has it open
   * @throws AppError validation_failed, not_found
   */
  async announce(socket: UserSocket, sent: unknown): Promise<{ userId: string; status: string }[]> {
    const checked = check(sent)
    if (!checked.ok) throw ValidationFailed({ errors: checked.errors })
    const message = checked.value as Message
    await this.#requireReader(socket, message)
    const key = keyOf(message)
    const { userId } = socket.data.caller
    if (message.status === 'gone') this.#close(socket, key)
    else {
      this.#remember(socket, key, message)
      this.#tell(message, userId)
    }
    const others = [...(this.#viewers.get(key)?.values() ?? [])].filter((viewer) => viewer.userId !== userId)
    return others.slice(0, VIEWER_LIMITS.shown).map((viewer) => ({ userId: viewer.userId, status: viewer.status }))
  }

  /** The socket has closed. */
  leave(socket: UserSocket): void {
    for (const key of this.#open.get(socket)?.keys() ?? []) this.#close(socket, key)
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  /** @throws AppError not_found for a resource that the user may not read, or that is not in the workspace */
  async #requireReader(socket: UserSocket, { kind, resourceId, workspaceId }: Message): Promise<void> {
    const { memberships, owners, whenRoomsCurrent } = this.#options
    await new Promise<void>((resolve) => whenRoomsCurrent(workspaceId, resolve))
    const { caller } = socket.data
    const member = withinKey(await memberships.find(workspaceId, caller.userId), caller)
    const { scope, table } = KINDS[kind]
    if (member === undefined || !member.scopes.has(scope)) throw NotFound()
    if ((await owners.workspaceOf(table, resourceId)) !== workspaceId) throw NotFound()
  }

  #remember(socket: UserSocket, key: string, message: Message): void {
    // It may have closed while its rights were read.
    if (!socket.connected) return
    const open = this.#open.get(socket) ?? new Map<string, Message>()
    this.#open.set(socket, open)
    open.delete(key)
    const [oldest] = open.keys()
    if (open.size >= VIEWER_LIMITS.perSocket && oldest !== undefined) this.#close(socket, oldest)
    open.set(key, message)
    this.#open.set(socket, open)
  }

  #close(socket: UserSocket, key: string): void {
    const open = this.#open.get(socket)
    const message = open?.get(key)
    if (open === undefined || message === undefined) return
    open.delete(key)
    if (open.size === 0) this.#open.delete(socket)
    const { userId } = socket.data.caller
    for (const [other, its] of this.#open) if (other.data.caller.userId === userId && its.has(key)) return
    this.#publish({ ...message, status: 'gone' }, userId)
  }

  /** Publishes it if it is new to others, or if they would soon take the user for gone. */
  #tell(message: Message, userId: string): void {
    const known = this.#viewers.get(keyOf(message))?.get(userId)
    const now = this.#options.clock.monotonic()
    const isKnown = known !== undefined && known.status === message.status
    if (isKnown && now - known.announcedAt < VIEWER_LIMITS.everyMs[known.status]) return
    this.#publish(message, userId)
  }

  #publish(message: Message, userId: string): void {
    const { clock, coordination } = this.#options
    const { kind, resourceId, status, workspaceId } = message
    coordination.publish(CHANNEL, { key: keyOf(message), userId, status } satisfies ViewerNotice)
    const expiresInSeconds = status === 'gone' ? 0 : VIEWER_LIMITS.expiresInSeconds[status]
    const event: WorkspaceEvent = {
      workspaceId,
      seq: 0,
      type: viewerUpdated.name,
      data: { workspaceId, kind, resourceId, userId, status, expiresInSeconds },
      at: new Date(clock.now()).toISOString(),
      scope: KINDS[kind].scope,
    }
    coordination.publish(`ev:${workspaceId}`, [event])
  }

  #hear({ key, status, userId }: ViewerNotice): void {
    const viewers = this.#viewers.get(key) ?? new Map<string, Viewer>()
    if (status === 'gone') viewers.delete(userId)
    else {
      const now = this.#options.clock.monotonic()
      const until = now + VIEWER_LIMITS.expiresInSeconds[status] * 1_000
      viewers.set(userId, { userId, status, until, announcedAt: now })
    }
    if (viewers.size === 0) this.#viewers.delete(key)
    else this.#viewers.set(key, viewers)
  }

  #expire(): void {
    const now = this.#options.clock.monotonic()
    for (const [key, viewers] of this.#viewers) {
      for (const [userId, { until }] of viewers) if (until <= now) viewers.delete(userId)
      if (viewers.size === 0) this.#viewers.delete(key)
    }
  }
}

function keyOf({ kind, resourceId }: Pick<Message, 'kind' | 'resourceId'>): string {
  return `${kind}:${resourceId}`
}
