import type { Static, TSchema } from 'typebox'
import type { Scope } from './scope.ts'

/**
 * An event of a workspace: its name, the schema of its data and the scope that a member needs to see it. A turn emits
 * it. After the commit it goes to the sockets in the workspace's room under this name, with the workspace's next
 * sequence number.
 */
export interface EventType<S extends TSchema = TSchema> {
  readonly name: `${string}.${string}`
  readonly summary: string
  /** Details beyond the summary: when the event is sent, and how clients should handle it. Markdown. */
  readonly description?: string
  /** Members without this scope never receive the event. */
  readonly scope: Scope
  /** Other scopes that a single event of this type may require instead. */
  readonly otherScopes?: readonly Scope[]
  /**
   * False for an event that is only sent to connected sockets and never stored. It has no sequence number, and its data
   * is the whole message.
   */
  readonly stored?: false
  /**
   * For an event about the account of one user. All sockets of the user get it, in any workspace, except those of API
   * keys with limits. Nobody else does, whatever scopes they have.
   */
  readonly personal?: true
  readonly data: S
  /** An example of `data`, shown in the AsyncAPI document and on `/docs/sockets`. */
  readonly example: Static<S>
}

export type EventData<E extends EventType> = Static<E['data']>

/**
 * Narrows the recipients of an event among members with its scope: to the members of a private channel or direct
 * conversation, or to one user. Events of a public channel need no audience.
 */
export type Audience = { readonly channel: string } | { readonly user: string }

export interface WorkspaceEvent {
  readonly workspaceId: string
  /** Sequence number in the workspace, without gaps, starting at 1; 0 for an event that is not stored. */
  readonly seq: number
  readonly type: string
  readonly data: unknown
  /** ISO 8601, UTC. */
  readonly at: string
  /** Only members of this channel see the event. */
  readonly channel?: string
  /** One of the type's `otherScopes`. Members need it instead of the type's own scope. */
  readonly scope?: Scope
  /** Only this user sees the event. */
  readonly user?: string
}

/** Declares an event. */
export function event<S extends TSchema>(declaration: EventType<S>): EventType<S> {
  return declaration
}

/** Declares an event for one user. It is sent with `publishToUser`, and is never stored. */
export function personalEvent<S extends TSchema>(
  declaration: Omit<EventType<S>, 'scope' | 'otherScopes' | 'stored' | 'personal'>,
): EventType<S> {
  // The scope is not used.
  return { ...declaration, scope: 'team:read', stored: false, personal: true }
}
