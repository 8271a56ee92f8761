import { SECOND } from '../core/clock.ts'

/** Bounds of what sockets may take. */
export const SOCKET_LIMITS = {
  /** Sockets of one user on one node; the newest is refused. */
  perUser: 50,
  /** Connections on one node, those included that have not said who they are. */
  perNode: 20_000,
  /** Sockets whose credentials and memberships are read at a time. */
  entering: 16,
  /** Bytes of one message from a client. */
  messageBytes: 100_000,
  /** Messages that a client may send at once, and how fast it may go on. */
  burst: 200,
  perSecond: 50,
  /** Calls of one socket that wait for their answer. */
  pendingCalls: 32,
  /** A connection that does not say who it is. */
  authenticateWithinMs: 5 * SECOND,
  /** Bytes that may wait for a client; uWS ends the connection at the hard limit, at once. */
  waitingBytesHard: 16 << 20,
  waitingBytes: 1 << 20,
  /** Messages that may wait for a client which polls. */
  waitingMessages: 1_000,
  /** A client that has more than `waitingBytes` waiting for so long does not read. */
  stalledMs: 10 * SECOND,
} as const

/** Bounds of connections that have not said who they are. */
export const STRANGER_LIMITS = {
  /** Of one network, on one node; the oldest ends. */
  perNetwork: 1_000,
  /** Packets of one connection. */
  packets: 16,
  /** Times that one connection is refused before it ends. */
  refusals: 3,
} as const

/** How often and how long somebody is said to type. */
export const TYPING_LIMITS = { everyMs: 3 * SECOND, expiresInSeconds: 6 } as const
