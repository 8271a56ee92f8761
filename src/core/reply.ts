import type { Readable } from 'node:stream'

/**
 * What a handler gives back. `body` is the whole JSON reply (envelope included); undefined sends no body. Plain data,
 * so that a reply can cross to another node and be kept for an idempotency key.
 */
export interface Reply<S extends number = number, B = unknown> {
  readonly status: S
  readonly body: B
  readonly headers?: Readonly<Record<string, string>>
}

/** A body that is no JSON: text, or bytes of a document. */
export class RawBody {
  readonly contentType: string
  readonly content: string | Uint8Array

  constructor(contentType: string, content: string | Uint8Array) {
    this.contentType = contentType
    this.content = content
  }
}

/** Bytes of a file, both ends counted in. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A file as a reply: sent as fast as the client reads, whole or the range that it asks for. */
export interface FileOptions {
  readonly contentType: string
  readonly size: number
  /** Without quotes; the same bytes always have the same one. */
  readonly etag: string
  /** The name under which a browser saves it. */
  readonly name: string
  /** `inline` only for what no browser runs. */
  readonly disposition: 'inline' | 'attachment'
  /** ISO 8601. */
  readonly modifiedAt?: string
  /** Value of Cache-Control. */
  readonly cache?: string
  /**
   * Opens the file, or a part of it. Called when the reply begins. The memory of a piece may be used again when the next
   * one is asked for.
   */
  readonly open: (range: ByteRange | undefined) => Promise<AsyncIterable<Buffer>>
}

export class FileBody {
  readonly options: FileOptions

  constructor(options: FileOptions) {
    this.options = options
  }
}

/** What an operation declares in `returns` for a reply made with `file`. */
export const FILE = { contentType: '*/*', file: true } as const

/** 200 with a file; the server makes 206, 304 and 416 of it where the request asks for them. */
export function file(options: FileOptions): Reply<200, FileBody> {
  return { status: 200, body: new FileBody(options) }
}

/** A reply without an end: sent as it comes, until its source ends or the client leaves. */
export class LiveBody {
  readonly contentType: string
  /** Open. Destroyed when nobody reads it any more. */
  readonly source: Readable

  constructor(contentType: string, source: Readable) {
    this.contentType = contentType
    this.source = source
  }
}

export interface PageResult<T> {
  readonly items: readonly T[]
  readonly limit: number
  readonly nextCursor: string | null
  readonly page?: number
  readonly total?: number
}

/** 200 with the common envelope. */
export function ok<T>(message: string, data: T): Reply<200, { status: true; message: string; data: T }> {
  return { status: 200, body: { status: true, message, data } }
}

/** 200 with an envelope that carries no data. */
export function done(message: string): Reply<200, { status: true; message: string }> {
  return { status: 200, body: { status: true, message } }
}

/** 201 with the common envelope. */
export function created<T>(message: string, data: T): Reply<201, { status: true; message: string; data: T }> {
  return { status: 201, body: { status: true, message, data } }
}

/** 202 with the common envelope: what was asked for goes on. */
export function accepted<T>(message: string, data: T): Reply<202, { status: true; message: string; data: T }> {
  return { status: 202, body: { status: true, message, data } }
}

/** 200 with one page of a list. */
export function list<T>(message: string, page: PageResult<T>) {
  const total = page.total
  return {
    status: 200 as const,
    body: {
      status: true as const,
      message,
      data: page.items as T[],
      pagination: {
        limit: page.limit,
        hasMore: page.nextCursor !== null,
        nextCursor: page.nextCursor,
        ...(page.page === undefined ? {} : { page: page.page }),
        ...(total === undefined ? {} : { total, pages: Math.ceil(total / page.limit) }),
      },
    },
  }
}

/** Any other status with a body of its own form. */
export function reply<const S extends number, B>(
  status: S,
  body: B,
  headers: Readonly<Record<string, string>> = {},
): Reply<S, B> {
  return { status, body, headers }
}

/** 200 without a body, where the contract says so. */
export function empty(): Reply<200, undefined> {
  return { status: 200, body: undefined }
}
