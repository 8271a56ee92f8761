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
  /** What the summary cannot say: when it comes, and what a client does with it. Markdown. */
  readonly description?: string
  /** A member without this scope never sees the event, on no channel. */
  readonly scope: Scope
  /** Scopes that single events of this type may ask for in its place. */
  readonly otherScopes?: readonly Scope[]
  /**
   * False: it goes to the sockets that are there and is kept nowhere. It takes no number of the workspace's sequence,
   * and its data is the whole message.
   */
  readonly stored?: false
  readonly data: S
  /** What `data` may look like: shown in the AsyncAPI document and on `/docs/sockets`. */
  readonly example: Static<S>
}

export type EventData<E extends EventType> = Static<E['data']>

/**
 * Narrows whom an event reaches, among those in the workspace who hold its scope: the members of a private channel or
 * direct conversation (what happens in a public channel needs no narrowing), or one user.
 */
export type Audience = { readonly channel: string } | { readonly user: string }

export interface WorkspaceEvent {
  readonly workspaceId: string
  /** Dense per workspace, starting at 1; 0 for an event that is not stored. */
  readonly seq: number
  readonly type: string
  readonly data: unknown
  /** ISO 8601, UTC. */
  readonly at: string
  /** Only its members see the event. */
  readonly channel?: string
  /** One of the type's `otherScopes`: members need it in place of the type's own. */
  readonly scope?: Scope
  /** Only this user sees the event. */
  readonly user?: string
}

/** Declares an event. */
export function event<S extends TSchema>(declaration: EventType<S>): EventType<S> {
  return declaration
}
