import type { Readable } from 'node:stream'

/**
 * How an operation takes a file. `raw`: the body is the file. `multipart`: the file is the part `file` of a
 * multipart/form-data body, and the operation's `body` schema describes the fields before it.
 */
export interface UploadDeclaration {
  readonly kind: 'raw' | 'multipart'
  /** Bytes of the file; more is 413. */
  readonly maxBytes: number
  /** The body may be a piece of the file, told by Content-Range. */
  readonly ranges?: true
}

/**
 * A file on its way in, as a handler gets it. Nothing of it is held in memory: who reads slowly slows the sender. The
 * stream fails when the client goes away, when the file is larger than declared, and when the body is malformed.
 */
export interface Upload {
  readonly stream: Readable
  /**
   * The same, in place of `stream`, for whoever is done with a piece when asking for the next: files of any size pass
   * without a byte of memory being allocated for them.
   */
  readonly blocks: AsyncIterable<Buffer>
  /** What the client calls the file, without folders; empty for a raw body. */
  readonly name: string
  /** What the client says the file is. Never to be believed. */
  readonly type: string
  /** Bytes of the whole body where they were announced; of a multipart body a little more than the file's. */
  readonly announced: number | undefined
  /** The Content-Range header; empty without one. */
  readonly contentRange: string
}
