import { Id, Input, OneOf, Text, Timestamp, Type, type TSchema } from '../core/schema.ts'
import { SOCKET_LIMITS, TYPING_LIMITS } from './limits.ts'

/**
 * What is said over sockets beside the events: the one source of `/api/asyncapi.json` and `/docs/sockets`. Operations
 * that can be called, and events, are declared by their domains.
 */

/** A message that a client or the server sends. */
export interface SocketMessageType {
  readonly name: string
  readonly summary: string
  /** More than the summary can say; Markdown. */
  readonly description: string
  readonly data: TSchema
  /** What is acknowledged; `reply` is what REST would answer. */
  readonly ack?: TSchema | 'reply'
}

export const TypingMessage = Input({ workspaceId: Id, channelId: Id })

export const PresenceMessage = Input({ state: OneOf(['online', 'away']) })

const AuthReply = Type.Union([
  Type.Object({ status: Type.Literal(true), message: Type.String() }),
  Type.Object({ status: Type.Literal(false), code: Type.String(), message: Type.String() }),
])

/** What a call is answered with: what REST would answer. */
export const CallAck = Type.Object({
  status: Type.Integer({ description: 'The HTTP status that REST would answer' }),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'The headers that REST would send, in lower case: x-request-id, ratelimit, retry-after, etag …',
  }),
  body: Type.Unknown({ description: 'The body that REST would send: an envelope or an error' }),
})

export const clientMessages: readonly SocketMessageType[] = [
  {
    name: 'auth',
    summary: 'Hand in the next access token before the present one expires',
    description:
      'Of the same user. A socket whose credential has expired or was revoked is ended with `credential_expired` or `invalid_credential`.',
    data: Input({ token: Text(1, 4_096, { description: 'An access token or an API key' }) }),
    ack: AuthReply,
  },
  {
    name: 'call',
    summary: 'Call an operation',
    description: `Any operation that says so can be called, with path, query and body as over REST and the same reply. At most ${SOCKET_LIMITS.pendingCalls} at a time wait for their answers.`,
    data: Input({
      operation: Text(1, 100, { description: 'The operationId of /api/openapi.json' }),
      path: Type.Optional(Type.Record(Type.String(), Type.String())),
      query: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      body: Type.Optional(Type.Unknown()),
      idempotencyKey: Type.Optional(Text(1, 255, { description: 'As the header Idempotency-Key, for a POST' })),
      ifMatch: Type.Optional(Text(1, 255, { description: 'As the header If-Match' })),
      requestId: Type.Optional(Text(1, 128, { description: 'As the header X-Request-Id' })),
    }),
    ack: 'reply',
  },
  {
    name: 'sync',
    summary: 'Get what has changed in a channel since a number',
    description:
      'Every change of a channel has the next number, with no gap. Whoever was away asks with the last one they have seen and ends in the state of one who never left; too far behind, or ahead of the server, they get a snapshot.',
    data: Input({
      workspaceId: Id,
      channelId: Id,
      after: Type.Integer({ minimum: 0, description: 'The number of the last change that was seen; 0 for none' }),
    }),
    ack: 'reply',
  },
  {
    name: 'resume',
    summary: 'Get the events of a workspace that were missed',
    description:
      'Events after a number, as far as the caller may see them. Live events come meanwhile: drop those whose `seq` is not greater than the last one seen, ask again while `hasMore`, and load everything anew on `reset`.',
    data: Input({
      workspaceId: Id,
      after: Type.Integer({ minimum: 0, description: 'The number of the last event that was seen' }),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    }),
    ack: 'reply',
  },
  {
    name: 'typing',
    summary: 'Say that the user is writing in a channel',
    description: `To be sent while they write. It reaches the others as \`chat.typing\`, at most every ${TYPING_LIMITS.everyMs / 1_000} seconds for a user and channel, and is over after ${TYPING_LIMITS.expiresInSeconds} seconds.`,
    data: TypingMessage,
    ack: 'reply',
  },
  {
    name: 'presence',
    summary: 'Say whether the user is at this program',
    description: 'A socket begins as `online`. A user is away when every socket of theirs is.',
    data: PresenceMessage,
    ack: 'reply',
  },
]

export const serverMessages: readonly SocketMessageType[] = [
  {
    name: 'closing',
    summary: 'The server is about to end the socket',
    description: 'With the reason; see the table of closing codes.',
    data: Type.Object({ code: Type.String() }),
  },
  {
    name: 'missed',
    summary: 'Events may have been missed although the socket stayed open',
    description:
      'A link inside the installation was down. Ask for what was missed with `resume` and `sync`, as after a reconnect.',
    data: Type.Object({ at: Timestamp }),
  },
]

/** Why the server ends a socket, with what the client should do. */
export const CLOSING_CODES: Readonly<Record<string, string>> = {
  credential_expired: 'The access token has expired. Refresh it and connect again; send `auth` in time to avoid it.',
  invalid_credential: 'The token or key was revoked. Sign in again.',
  too_many_messages: `More than ${SOCKET_LIMITS.burst} messages at once, or ${SOCKET_LIMITS.perSecond} a second for longer. Send less.`,
  too_slow: `More than ${SOCKET_LIMITS.waitingBytes >> 20} MiB waited for ${SOCKET_LIMITS.stalledMs / 1_000} seconds to be read. Connect again and resume.`,
  shutting_down: 'The server stops. Connect again: another node takes over.',
}

/** With what a connection is refused: the code in `data` of `connect_error`. */
export const REFUSALS: Readonly<Record<string, string>> = {
  unauthorized: 'No token in `auth`. One in the URL is refused: addresses end up in logs.',
  invalid_credential: 'The token or key is malformed, unknown or was revoked.',
  credential_expired: 'The access token has expired.',
  too_many_sockets: `The user has ${SOCKET_LIMITS.perUser} sockets on the node.`,
  shutting_down: 'The server stops. Try again in a moment.',
}
