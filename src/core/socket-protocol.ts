import type { EventType } from './event.ts'
import type { NamedOperation } from './operation.ts'
import type { TSchema } from './schema.ts'

/** A message that a client or the server sends over a socket, beside the events. */
export interface SocketMessageType {
  readonly name: string
  readonly summary: string
  /** More than the summary can say; Markdown. */
  readonly description: string
  readonly data: TSchema
  /** What is acknowledged; `reply` is what REST would answer. */
  readonly ack?: TSchema | 'reply'
  readonly example: unknown
}

/** All that is said over sockets: what the description and the page about them are made of. */
export interface SocketProtocol {
  readonly version: string
  readonly events: readonly EventType[]
  readonly clientMessages: readonly SocketMessageType[]
  readonly serverMessages: readonly SocketMessageType[]
  /** Operations; those that say `socket` can be called. */
  readonly operations: readonly NamedOperation[]
  /** Why the server ends a socket, and why it refuses one, with what the client should do. */
  readonly closingCodes: Readonly<Record<string, string>>
  readonly refusals: Readonly<Record<string, string>>
  /** Bounds, in words. */
  readonly limits: readonly string[]
}

/** Whom an event reaches, and how it is numbered. */
export function eventInWords({ scope, stored }: EventType): string {
  const whom = `Reaches those in the workspace who hold \`${scope}\`, of a private channel its members alone.`
  return stored === false
    ? `${whom} It is kept nowhere and has no number of the workspace.`
    : `${whom} It is numbered (\`seq\`) and can be had later by \`resume\` and GET /api/workspaces/{workspaceId}/events.`
}
