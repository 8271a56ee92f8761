import type { EventType } from './event.ts'
import { EXAMPLE, EXAMPLE_TIME } from './example-ids.ts'
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

/** An event as a client gets it. */
export function eventExample({ example, name, stored }: EventType): unknown {
  if (stored === false) return example
  return { seq: 1201, type: name, workspaceId: EXAMPLE.workspaceId, at: EXAMPLE_TIME, data: example }
}

/** Whom an event reaches, and how it is numbered. */
export function eventInWords({ scope, stored }: EventType): string {
  const whom = `Sent to members with \`${scope}\`; what concerns a private channel, to its members only.`
  return stored === false
    ? `${whom} It is not kept and has no number.`
    : `${whom} It has a number (\`seq\`) and can be read later, with \`resume\` or \`GET /api/workspaces/{workspaceId}/events\`.`
}
