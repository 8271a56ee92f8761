import type { SocketMessage } from './operation.ts'
import type { Credential } from './ports.ts'

/** The caller of a socket and its address. */
export interface SocketClient {
  readonly credential: Credential
  readonly remoteAddress: string
  readonly userAgent: string
}

/** The reply that REST would send. Header names are in lower case. */
export interface CallReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body as JSON text, sent unchanged. */
  readonly json?: string
  /** A body of another content type. */
  readonly body?: string | Uint8Array
}

/** Runs operations that clients call over a socket, through the same pipeline as REST. Never throws. */
export interface SocketCalls {
  /** @param message the unvalidated `{ operation, path?, query?, body?, idempotencyKey?, ifMatch?, requestId? }` */
  call(message: unknown, client: SocketClient): Promise<CallReply>
  /**
   * Runs an operation that has its own message.
   * @param fields the unvalidated fields of path, query and body combined
   */
  named(message: SocketMessage, fields: unknown, client: SocketClient): Promise<CallReply>
  /** The reply for a message that was refused before it reached an operation. */
  refuse(error: unknown, client: SocketClient): CallReply
}
