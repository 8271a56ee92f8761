import type { Static, TSchema } from 'typebox'
import type { Scope } from './scope.ts'

/**
 * An event that a workspace sees, declared once: its name, the shape of its data and the scope one needs to see it.
 * A turn emits it; after the commit it goes to the sockets of the workspace's room under this name, with the
 * workspace's next sequence number.
 */
export interface EventType<S extends TSchema = TSchema> {
  readonly name: `${string}.${string}`
  readonly summary: string
  /** A member without this scope never sees the event, on no channel. */
  readonly scope: Scope
  readonly data: S
}

export type EventData<E extends EventType> = Static<E['data']>

export interface WorkspaceEvent {
  readonly workspaceId: string
  /** Dense per workspace, starting at 1. */
  readonly seq: number
  readonly type: string
  readonly data: unknown
  /** ISO 8601, UTC. */
  readonly at: string
}

/** Declares an event. */
export function event<const S extends TSchema>(declaration: EventType<S>): EventType<S> {
  return declaration
}
