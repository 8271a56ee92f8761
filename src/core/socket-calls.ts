import type { SocketMessage } from './operation.ts'
import type { Credential } from './ports.ts'

/** Who calls over a socket, and from where. */
export interface SocketClient {
  readonly credential: Credential
  readonly remoteAddress: string
  readonly userAgent: string
}

/** What is sent back: what REST would answer. Names of headers in lower case. */
export interface CallReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body as JSON, which is sent as it is. */
  readonly json?: string
  /** A body of another type. */
  readonly body?: string | Uint8Array
}

/** Runs operations that were called over a socket, through the pipeline of REST. Never throws. */
export interface SocketCalls {
  /** @param message `{ operation, path?, query?, body?, idempotencyKey?, ifMatch?, requestId? }`, as it came */
  call(message: unknown, client: SocketClient): Promise<CallReply>
  /** An operation that is a message of its own. @param fields of its path, query and body together, as they came */
  named(message: SocketMessage, fields: unknown, client: SocketClient): Promise<CallReply>
  /** The reply of what was refused before an operation was reached. */
  refuse(error: unknown, client: SocketClient): CallReply
}
