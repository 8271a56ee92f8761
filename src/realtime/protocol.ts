import { EXAMPLE } from '../core/example-ids.ts'
import { Id, Input, OneOf, Text, Timestamp, Type } from '../core/schema.ts'
import type { SocketMessageType } from '../core/socket-protocol.ts'
import { SOCKET_LIMITS, STRANGER_LIMITS, TYPING_LIMITS } from './limits.ts'

/**
 * What is said over sockets beside the events: the one source of `/api/asyncapi.json` and `/docs/sockets`. Operations
 * that can be called, and events, are declared by their domains.
 */

export const TypingMessage = Input({ workspaceId: Id, channelId: Id })

export const PresenceMessage = Input({ presence: OneOf(['online', 'away']) })

const AuthReply = Type.Union([
  Type.Object({ status: Type.Literal(true), message: Type.String() }),
  Type.Object({ status: Type.Literal(false), code: Type.String(), message: Type.String() }),
])

const { channelId, workspaceId } = EXAMPLE

export const clientMessages: readonly SocketMessageType[] = [
  {
    name: 'auth',
    summary: 'Hand in the next access token before the present one expires',
    description:
      'Of the same user. A socket whose credential has expired or was revoked is ended with `credential_expired` or `invalid_credential`.',
    data: Input({ token: Text(1, 4_096, { description: 'An access token or an API key' }) }),
    ack: AuthReply,
    example: { token: 'eyJhbGciOi…' },
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
    example: {
      operation: 'sendMessage',
      path: { workspaceId, channelId },
      body: { body: 'Hello', clientId: 'a1' },
    },
  },
  {
    name: 'sync',
    summary: 'Get what has changed in a channel since a number',
    description:
      'Every change of a channel has the next number, with no gap. Whoever was away asks with the last one they have seen and ends in the state of one who never left; behind what is kept (the newest 1,000 changes, none older than 90 days), or ahead of the server, they get a snapshot.',
    data: Input({
      workspaceId: Id,
      channelId: Id,
      after: Type.Integer({ minimum: 0, description: 'The number of the last change that was seen; 0 for none' }),
    }),
    ack: 'reply',
    example: { workspaceId, channelId, after: 41 },
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
    example: { workspaceId, after: 1200 },
  },
  {
    name: 'typing',
    summary: 'Say that the user is writing in a channel',
    description: `To be sent while they write. It reaches the others as \`chat.typing\`, at most every ${TYPING_LIMITS.everyMs / 1_000} seconds for a user and channel, and is over after ${TYPING_LIMITS.expiresInSeconds} seconds.`,
    data: TypingMessage,
    ack: 'reply',
    example: { workspaceId, channelId },
  },
  {
    name: 'presence',
    summary: 'Say whether the user is at this program',
    description: 'A socket begins as `online`. A user is away when every socket of theirs is.',
    data: PresenceMessage,
    ack: 'reply',
    example: { presence: 'away' },
  },
]

export const serverMessages: readonly SocketMessageType[] = [
  {
    name: 'closing',
    summary: 'The server is about to end the socket',
    description: 'With the reason; see the table of closing codes.',
    data: Type.Object({ code: Type.String() }),
    example: { code: 'credential_expired' },
  },
  {
    name: 'missed',
    summary: 'Events may have been missed although the socket stayed open',
    description:
      'A link inside the installation was down, or one of its nodes has died. Ask for what was missed with `resume` and `sync`, as after a reconnect.',
    data: Type.Object({ at: Timestamp }),
    example: { at: '2026-11-21T05:00:00.000Z' },
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
  origin_not_allowed:
    'The page was loaded from an origin that is neither the server’s own nor in `CORS_ORIGINS`. The log names it.',
  rate_limited: 'Too many refused credentials came from the network lately. Wait.',
  email_unverified: 'The address of the account was never confirmed.',
  too_many_sockets: `The user has ${SOCKET_LIMITS.perUser} sockets on the node.`,
  shutting_down: 'The server stops. Try again in a moment.',
}

/** Bounds, in words. */
export const LIMITS_IN_WORDS: readonly string[] = [
  `${SOCKET_LIMITS.perUser} sockets of a user on a node; the newest is refused.`,
  `${SOCKET_LIMITS.messageBytes / 1_000} kB a message. A larger one ends the connection.`,
  `${SOCKET_LIMITS.burst} messages at once and ${SOCKET_LIMITS.perSecond} a second for longer; past it the socket is ended with \`too_many_messages\`.`,
  `${SOCKET_LIMITS.pendingCalls} calls of a socket that wait for their answers; past it 429 \`too_many_calls\`. Calls also take from the same rate limits as REST.`,
  'WebSocket alone, unless the server has SOCKET_POLLING=1: connect with `transports: ["websocket"]`.',
  `A connection that does not say who it is within ${SOCKET_LIMITS.authenticateWithinMs / 1_000} seconds is ended. Until then it may send ${STRANGER_LIMITS.packets} packets, one CONNECT at a time, and be refused ${STRANGER_LIMITS.refusals} times.`,
  `A client that does not read is ended with \`too_slow\` and never starved silently.`,
]
