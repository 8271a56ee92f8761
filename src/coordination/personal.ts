import type { EventType } from '../core/event.ts'
import type { Coordination } from './coordination.ts'

/** An event for the sockets of one user. */
export interface PersonalMessage {
  readonly userId: string
  readonly type: string
  readonly data: unknown
}

/** Sends a personal event to the sockets of a user on all nodes. Call it after the commit. It may be lost. */
export function publishToUser(coordination: Coordination, userId: string, type: EventType, data: unknown): void {
  coordination.publish(`personal:${userId}`, { userId, type: type.name, data } satisfies PersonalMessage)
}
