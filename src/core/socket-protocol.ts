import type { EventType } from './event.ts'
import { EXAMPLE, EXAMPLE_TIME } from './example-ids.ts'
import type { NamedOperation } from './operation.ts'
import type { TSchema } from './schema.ts'

/** A message that a client or the server sends over a socket, other than the events. */
export interface SocketMessageType {
  readonly name: string
  readonly summary: string
  /** Details beyond the summary. Markdown. */
  readonly description: string
  readonly data: TSchema
  /** The acknowledgement. `reply` means the reply of REST. */
  readonly ack?: TSchema | 'reply'
  readonly example: unknown
}

/** All messages over sockets. The AsyncAPI document and the page about sockets are made from it. */
export interface SocketProtocol {
  readonly version: string
  readonly events: readonly EventType[]
  readonly clientMessages: readonly SocketMessageType[]
  readonly serverMessages: readonly SocketMessageType[]
  /** All operations. Those with `socket` can be called. */
  readonly operations: readonly NamedOperation[]
  /** Why the server closes or refuses a socket, and what the client should do. */
  readonly closingCodes: Readonly<Record<string, string>>
  readonly refusals: Readonly<Record<string, string>>
  /** The limits, as text. */
  readonly limits: readonly string[]
}

/** An event as clients receive it. */
export function eventExample({ example, name, stored }: EventType): unknown {
  if (stored === false) return example
  return { seq: 1201, type: name, workspaceId: EXAMPLE.workspaceId, at: EXAMPLE_TIME, data: example }
}

/** A sentence about the recipients of an event and its numbering. */
export function eventInWords({ personal, scope, stored }: EventType): string {
  if (personal) {
    return 'Sent to your own sockets, whatever workspaces you are in. Sockets of API keys with limits do not get it. It is not stored and has no sequence number.'
  }
  const whom = `Sent to members with \`${scope}\`. Events of a private channel are sent to its members only.`
  return stored === false
    ? `${whom} It is not stored and has no sequence number.`
    : `${whom} It has a sequence number (\`seq\`) and can be read later with \`resume\` or \`GET /api/workspaces/{workspaceId}/events\`.`
}
