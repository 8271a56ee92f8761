import { SECOND } from '../core/clock.ts'

/** Limits of sockets. */
export const SOCKET_LIMITS = {
  /** Sockets per user and node. A further one is refused. */
  perUser: 50,
  /** Connections per node, including unauthenticated ones. */
  perNode: 20_000,
  /** How many sockets are authenticated at the same time. */
  entering: 16,
  /** Bytes of one message from a client. */
  messageBytes: 100_000,
  /** Messages that a client may send at once, and per second in the long run. */
  burst: 200,
  perSecond: 50,
  /** Calls in progress per socket. */
  pendingCalls: 32,
  /** How long a connection may stay unauthenticated. */
  authenticateWithinMs: 5 * SECOND,
  /** Bytes that may wait for a client. At the hard limit uWS closes the connection at once. */
  waitingBytesHard: 16 << 20,
  waitingBytes: 1 << 20,
  /** Messages that may wait for a polling client. */
  waitingMessages: 1_000,
  /** A client with more than `waitingBytes` waiting for this long is considered stalled. */
  stalledMs: 10 * SECOND,
} as const

/** Limits of unauthenticated connections. */
export const UNAUTHENTICATED_LIMITS = {
  /** Connections per network and node. A further one closes the oldest. */
  perNetwork: 1_000,
  /** Packets per connection. */
  packets: 16,
  /** How often a connection may be refused before it is closed. */
  refusals: 3,
} as const

/** How many resources one socket can view. */
export const VIEWING_LIMITS = { resources: 10 } as const

/** Who has a post, a stream or a file open. */
export const VIEWER_LIMITS = {
  /** Resources that one socket has open. A further one closes the oldest. */
  perSocket: 10,
  /** How many viewers a reply names. */
  shown: 50,
  /** How often the same state of a user is announced. */
  everyMs: { viewing: 10 * SECOND, typing: 3 * SECOND },
  /** For how long a state is shown if it is not repeated. */
  expiresInSeconds: { viewing: 45, typing: 6 },
  expireEveryMs: SECOND,
} as const

/** How often typing is announced, and for how long it is shown. */
export const TYPING_LIMITS = { everyMs: 3 * SECOND, expiresInSeconds: 6 } as const
