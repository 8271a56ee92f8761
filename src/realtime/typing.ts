import type { Clock } from '../core/clock.ts'
import { Forbidden, NotFound, ValidationFailed } from '../core/errors.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import { withinKey } from '../core/key-limits.ts'
import type { Channels, Memberships, Switches } from '../core/ports.ts'
import { requireOn } from '../core/service-switch.ts'
import type { Static } from '../core/schema.ts'
import { validator } from '../core/validate.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { chatTyping } from './events.ts'
import { TYPING_LIMITS } from './limits.ts'
import type { UserSocket } from './connected-users.ts'
import { TypingMessage } from './protocol.ts'
import { channelRoom } from './rooms.ts'

export interface TypingOptions {
  readonly channels: Channels
  readonly memberships: Memberships
  readonly switches: Switches
  readonly coordination: Coordination
  readonly clock: Clock
  /** Calls back as soon as the sockets of a workspace are in their current rooms. */
  readonly whenRoomsCurrent: (workspaceId: string, action: () => void) => void
}

const check = validator(TypingMessage, '/typing')

/** Announces in a channel that a user is typing, to all sockets on all nodes. Nothing is stored. */
export class Typing {
  readonly #options: TypingOptions
  /** When each user was last announced in a channel; monotonic milliseconds. */
  readonly #announced = new Map<string, number>()

  constructor(options: TypingOptions) {
    this.#options = options
  }

  /** Announces that the user of a socket is typing. Repeats within a few seconds are ignored. @throws AppError */
  async announce(socket: UserSocket, message: unknown): Promise<void> {
    requireOn(this.#options.switches, 'chat')
    const checked = check(message)
    if (!checked.ok) throw ValidationFailed({ errors: checked.errors })
    const { channelId, workspaceId } = checked.value as Static<typeof TypingMessage>
    const { caller } = socket.data
    const { userId } = caller
    const { channels, clock, coordination, memberships, whenRoomsCurrent } = this.#options
    await new Promise<void>((resolve) => whenRoomsCurrent(workspaceId, resolve))
    const member = withinKey(await memberships.find(workspaceId, userId), caller)
    if (member === undefined || !member.scopes.has('chat:read')) throw NotFound()
    const isPrivate = socket.rooms.has(channelRoom(workspaceId, channelId))
    if (!isPrivate && !(await channels.isPublic(workspaceId, channelId))) throw NotFound()
    if (!member.scopes.has('chat:write')) throw Forbidden({ message: 'Your role lacks the scope chat:write.' })
    if (!this.#isDue(`${userId} ${channelId}`, clock.monotonic())) return
    const event: WorkspaceEvent = {
      workspaceId,
      seq: 0,
      type: chatTyping.name,
      data: { workspaceId, channelId, userId, expiresInSeconds: TYPING_LIMITS.expiresInSeconds },
      at: new Date(clock.now()).toISOString(),
      ...(isPrivate ? { channel: channelId } : {}),
    }
    coordination.publish(`ev:${workspaceId}`, [event])
  }

  #isDue(key: string, now: number): boolean {
    const last = this.#announced.get(key)
    if (last !== undefined && now - last < TYPING_LIMITS.everyMs) return false
    // Entries are in order of time, so expired ones come first.
    this.#announced.delete(key)
    this.#announced.set(key, now)
    for (const [old, at] of this.#announced) {
      if (now - at < TYPING_LIMITS.everyMs) break
      this.#announced.delete(old)
    }
    return true
  }
}
