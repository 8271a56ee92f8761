import type { Readable } from 'node:stream'

/**
 * How an operation receives a file. `raw`: the body is the file. `multipart`: the file is the part `file` of a
 * multipart/form-data body, and the operation's `body` schema describes the fields before it.
 */
export interface UploadDeclaration {
  readonly kind: 'raw' | 'multipart'
  /** The limit of the file in bytes. A larger file is refused with 413. */
  readonly maxBytes: number
  /** The body may be a part of the file, given by Content-Range. */
  readonly ranges?: true
}

/**
 * An incoming file, as a handler gets it. It is not buffered in memory: a slow reader slows the sender. The stream
 * fails when the client disconnects, when the file is larger than declared, and when the body is malformed.
 */
export interface Upload {
  readonly stream: Readable
  /**
   * An alternative to `stream` for readers that finish with a block before they request the next one. It reuses memory,
   * so that files of any size pass without allocations.
   */
  readonly blocks: AsyncIterable<Buffer>
  /** The file name sent by the client, without folders; empty for a raw body. */
  readonly name: string
  /** The media type sent by the client. Never trust it. */
  readonly type: string
  /** The announced size of the whole body in bytes. For a multipart body it is slightly larger than the file. */
  readonly announced: number | undefined
  /** The Content-Range header; empty without one. */
  readonly contentRange: string
}
