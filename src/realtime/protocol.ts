import { EXAMPLE } from '../core/example-ids.ts'
import { Generation, Id, Input, OneOf, Text, Timestamp, Type } from '../core/schema.ts'
import { ServiceStatus } from '../core/service-switch.ts'
import type { SocketMessageType } from '../core/socket-protocol.ts'
import { SOCKET_LIMITS, UNAUTHENTICATED_LIMITS, TYPING_LIMITS, VIEWER_LIMITS, VIEWING_LIMITS } from './limits.ts'

/**
 * Messages over sockets other than events. `/api/asyncapi.json` and `/docs/sockets` are made from them. Domains declare
 * the events and the operations that can be called.
 */

export const TypingMessage = Input({ workspaceId: Id, channelId: Id })

export const PresenceMessage = Input({ presence: OneOf(['online', 'away']) })

export const ViewerMessage = Input({
  workspaceId: Id,
  kind: OneOf(['post', 'stream', 'asset']),
  resourceId: Id,
  status: OneOf(['viewing', 'typing', 'gone']),
})

export const ViewingMessage = Input({
  resources: Type.Array(
    Input({
      kind: Type.String({
        pattern: '^[a-z_]{1,40}$',
        description: 'The `resourceKind` of notifications, such as `post`, `idea` or `ticket`',
      }),
      resourceId: Id,
    }),
    { maxItems: VIEWING_LIMITS.resources, description: 'Everything that is visible; empty for nothing' },
  ),
})

const AuthReply = Type.Union([
  Type.Object({ status: Type.Literal(true), message: Type.String() }),
  Type.Object({ status: Type.Literal(false), code: Type.String(), message: Type.String() }),
])

const { channelId, ideaId, postId, workspaceId } = EXAMPLE

export const clientMessages: readonly SocketMessageType[] = [
  {
    name: 'auth',
    summary: 'Send a new access token before the current one expires',
    description:
      'The token must belong to the same user. A socket whose credential expires or is revoked is closed with `credential_expired` or `invalid_credential`.',
    data: Input({ token: Text(1, 4_096, { description: 'An access token or an API key' }) }),
    ack: AuthReply,
    example: { token: 'eyJhbGciOi…' },
  },
  {
    name: 'call',
    summary: 'Call an operation',
    description: `For operations that are marked as callable. Path, query, body and reply are the same as over REST. At most ${SOCKET_LIMITS.pendingCalls} calls may be in progress.`,
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
    summary: 'Get changes of a channel after a number',
    description:
      'Changes of a channel are numbered without gaps. Send the last number that you have seen, and apply the changes to reach the current state. The newest 1,000 changes of the last 90 days are kept. If yours is older than these, newer than the server’s or of another `generation`, you get a snapshot.',
    data: Input({
      workspaceId: Id,
      channelId: Id,
      after: Type.Integer({ minimum: 0, description: 'Number of the last change that you have seen; 0 for none' }),
      generation: Type.Optional(Generation),
    }),
    ack: 'reply',
    example: { workspaceId, channelId, after: 41 },
  },
  {
    name: 'resume',
    summary: 'Get missed events of a workspace',
    description:
      'Returns events after a number that the caller may see. Live events continue in the meantime: ignore those whose `seq` is not greater than the last one you have seen. Send it again while `hasMore` is true, and reload everything on `reset`.',
    data: Input({
      workspaceId: Id,
      after: Type.Integer({ minimum: 0, description: 'Number of the last event that you have seen' }),
      generation: Type.Optional(Generation),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    }),
    ack: 'reply',
    example: { workspaceId, after: 1200 },
  },
  {
    name: 'typing',
    summary: 'Report that the user is typing in a channel',
    description: `Send it while the user types. Others receive \`chat.typing\`, at most every ${TYPING_LIMITS.everyMs / 1_000} seconds per user and channel. It expires after ${TYPING_LIMITS.expiresInSeconds} seconds.`,
    data: TypingMessage,
    ack: 'reply',
    example: { workspaceId, channelId },
  },
  {
    name: 'viewer',
    summary: 'Report that the user has a post, a stream or a file open',
    description: `Others who may read it receive \`viewer.updated\`. Send it when the user opens it, types (\`typing\`) or leaves (\`gone\`), and repeat it every ${VIEWER_LIMITS.everyMs.viewing / 1_000 + 5} seconds: \`viewing\` expires after ${VIEWER_LIMITS.expiresInSeconds.viewing} seconds, \`typing\` after ${VIEWER_LIMITS.expiresInSeconds.typing}. The reply lists the others who have it open, at most ${VIEWER_LIMITS.shown}. A socket has at most ${VIEWER_LIMITS.perSocket} things open; a further one closes the oldest. What a closed socket had open is \`gone\`.`,
    data: ViewerMessage,
    ack: 'reply',
    example: { workspaceId, kind: 'post', resourceId: postId, status: 'typing' },
  },
  {
    name: 'presence',
    summary: 'Report whether the user is active',
    description: 'A socket starts as `online`. A user is away when all of their sockets are.',
    data: PresenceMessage,
    ack: 'reply',
    example: { presence: 'away' },
  },
  {
    name: 'viewing',
    summary: 'Report what the user has on the screen',
    description:
      'The user is not notified of what they are viewing. Each message replaces the one before. It counts while the socket is open and not `away`, so send it again after a reconnect.',
    data: ViewingMessage,
    ack: 'reply',
    example: { resources: [{ kind: 'idea', resourceId: ideaId }] },
  },
]

/** Sent to all sockets. */
export const SERVICE_UPDATED = 'service.updated'

export const serverMessages: readonly SocketMessageType[] = [
  {
    name: 'closing',
    summary: 'The server is about to close the socket',
    description: '`code` is the reason; see the table of closing codes.',
    data: Type.Object({ code: Type.String() }),
    example: { code: 'credential_expired' },
  },
  {
    name: 'missed',
    summary: 'Events may have been missed although the socket stayed open',
    description:
      'A connection between nodes was down, a node has died, or another database has taken over. Get what you missed with `resume` and `sync`, as after a reconnect.',
    data: Type.Object({ at: Timestamp }),
    example: { at: '2026-11-21T05:00:00.000Z' },
  },
  {
    name: SERVICE_UPDATED,
    summary: 'An administrator has switched a service off or on',
    description:
      'Every socket gets it, within a second. After connecting, a socket gets one for each service that is off; all others are on. Calls to a service that is off return 503 `service_disabled`. When it is on again, get what you missed with `resume` and `sync`.',
    data: ServiceStatus,
    example: { key: 'chat', enabled: false, status: 'disabled', updatedAt: '2026-11-21T05:00:00.000Z' },
  },
]

/** Why the server closes a socket, and what the client should do. */
export const CLOSING_CODES: Readonly<Record<string, string>> = {
  credential_expired: 'The access token has expired. Refresh it and connect again. Send `auth` in time to avoid this.',
  invalid_credential: 'The token or key was revoked. Sign in again.',
  too_many_messages: `More than ${SOCKET_LIMITS.burst} messages at once, or more than ${SOCKET_LIMITS.perSecond} per second over time. Send fewer.`,
  too_slow: `More than ${SOCKET_LIMITS.waitingBytes >> 20} MiB waited for ${SOCKET_LIMITS.stalledMs / 1_000} seconds. Connect again and resume.`,
  shutting_down: 'The server is stopping. Connect again: another node takes over.',
}

/** Why a connection is refused: the code in `data` of `connect_error`. */
export const REFUSALS: Readonly<Record<string, string>> = {
  unauthorized: 'No token in `auth`. Tokens in the URL are refused, because URLs end up in logs.',
  invalid_credential: 'The token or key is malformed, unknown or revoked.',
  credential_expired: 'The access token has expired.',
  origin_not_allowed: 'The origin of the page is neither the server’s own nor in `CORS_ORIGINS`. The log names it.',
  rate_limited: 'Too many credentials from your network were refused. Wait before you try again.',
  email_unverified: 'The email address of the account is not confirmed.',
  too_many_sockets: `The user already has ${SOCKET_LIMITS.perUser} sockets on the node.`,
  shutting_down: 'The server is stopping. Try again in a moment.',
}

/** The limits, for the documentation. */
export const LIMITS_IN_WORDS: readonly string[] = [
  `${SOCKET_LIMITS.perUser} sockets per user and node. A further one is refused.`,
  `${SOCKET_LIMITS.messageBytes / 1_000} kB per message. A larger one closes the connection.`,
  `${SOCKET_LIMITS.burst} messages at once, and ${SOCKET_LIMITS.perSecond} per second over time. Beyond that the socket is closed with \`too_many_messages\`.`,
  `${SOCKET_LIMITS.pendingCalls} calls in progress per socket. Further ones get 429 \`too_many_calls\`. Calls count against the same rate limits as REST.`,
  'WebSocket only, unless the server has SOCKET_POLLING=1: connect with `transports: ["websocket"]`.',
  `A connection that is not authenticated within ${SOCKET_LIMITS.authenticateWithinMs / 1_000} seconds is closed. Until then it may send ${UNAUTHENTICATED_LIMITS.packets} packets, one CONNECT at a time, and be refused ${UNAUTHENTICATED_LIMITS.refusals} times.`,
  `A client that does not read is closed with \`too_slow\`. Messages are never dropped silently.`,
]
