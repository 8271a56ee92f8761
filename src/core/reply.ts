import type { Readable } from 'node:stream'

/**
 * The reply of a handler. `body` is the whole JSON reply with its envelope; undefined sends no body. Replies are plain
 * data, so that they can be sent to another node and stored for an idempotency key.
 */
export interface Reply<S extends number = number, B = unknown> {
  readonly status: S
  readonly body: B
  readonly headers?: Readonly<Record<string, string>>
}

/** How a reply that is the same for everyone may be stored by browsers and proxies. */
export interface PublicCaching {
  /** Without quotes. Other bytes have another tag. */
  readonly etag: string
  /** Value of Cache-Control. */
  readonly control: string
  /** Whether the content is still what everyone gets. The server then sends the same bytes for the same request. */
  readonly isFresh?: () => boolean
}

/** A body that is sent as it is: text or bytes. */
export class RawBody {
  readonly contentType: string
  readonly content: string | Uint8Array
  /** Set for public content. The server adds ETag and Cache-Control, and replies 304 if the client has this version. */
  readonly caching: PublicCaching | undefined

  constructor(contentType: string, content: string | Uint8Array, caching?: PublicCaching) {
    this.contentType = contentType
    this.content = content
    this.caching = caching
  }
}

/** 200 with JSON that was serialized before. Its type is that of the body which the client gets. */
export function serialized<B>(body: RawBody): Reply<200, B> {
  return { status: 200, body: body as unknown as B }
}

/** A range of bytes. Both ends are inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A file as a reply, sent as fast as the client reads: whole, or the requested range. */
export interface FileOptions {
  readonly contentType: string
  readonly size: number
  /** Without quotes. The same bytes always have the same tag. */
  readonly etag: string
  /** The file name that a browser saves it under. */
  readonly name: string
  /** `inline` is only for types that browsers do not execute. */
  readonly disposition: 'inline' | 'attachment'
  /** ISO 8601. */
  readonly modifiedAt?: string
  /** Value of Cache-Control. */
  readonly cache?: string
  /**
   * Opens the file or a range of it, when the reply starts. A chunk's memory may be reused once the next chunk is
   * requested.
   */
  readonly open: (range: ByteRange | undefined) => Promise<AsyncIterable<Buffer>>
}

export class FileBody {
  readonly options: FileOptions

  constructor(options: FileOptions) {
    this.options = options
  }
}

/** The declaration in `returns` for a reply made with `file`. */
export const FILE = { contentType: '*/*', file: true } as const

/** 200 with a file. The server turns it into 206, 304 or 416 depending on the request. */
export function file(options: FileOptions): Reply<200, FileBody> {
  return { status: 200, body: new FileBody(options) }
}

/** A reply without an end, streamed until its source ends or the client disconnects. */
export class LiveBody {
  readonly contentType: string
  /** An open stream. It is destroyed when the client disconnects. */
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

/** 200 with an envelope without data. */
export function done(message: string): Reply<200, { status: true; message: string }> {
  return { status: 200, body: { status: true, message } }
}

/** 201 with the common envelope. */
export function created<T>(message: string, data: T): Reply<201, { status: true; message: string; data: T }> {
  return { status: 201, body: { status: true, message, data } }
}

/** 202 with the common envelope: the work continues in the background. */
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

/** JSON text of a value, stored in the form that its schema gives it. */
export type StoredJson<T> = string & { readonly stored?: T }

/** The same as UTF-8. */
export type StoredBytes<T> = Uint8Array & { readonly stored?: T }

/** A list of stored JSON. It is sent without being parsed. */
export class StoredList {
  readonly message: string
  readonly page: PageResult<string>

  constructor(message: string, page: PageResult<string>) {
    this.message = message
    this.page = page
  }

  /** The body of the reply. */
  get text(): string {
    const { data: _data, ...envelope } = list(this.message, { ...this.page, items: [] }).body
    return `${JSON.stringify(envelope).slice(0, -1)},"data":[${this.page.items.join(',')}]}`
  }
}

/** 200 with one page of a list of stored JSON. Its type is that of the list which the client gets. */
export function storedList<T>(message: string, page: PageResult<StoredJson<T>>) {
  const body: unknown = new StoredList(message, page)
  return { status: 200, body } as ReturnType<typeof list<T>>
}

/** The JSON of a whole reply, which is sent as it is. */
export class PreparedBody {
  /** UTF-8. */
  readonly bytes: Uint8Array
  /** The same bytes always have the same tag. Sent as an ETag if the operation has `etag`. */
  readonly tag: string

  constructor(bytes: Uint8Array, tag: string) {
    this.bytes = bytes
    this.tag = tag
  }
}

/** 200 with the JSON of a whole reply. `T` is the type of the data in it. */
export function prepared<T>(bytes: StoredBytes<T>, tag: string) {
  const body: unknown = new PreparedBody(bytes, tag)
  return { status: 200, body } as ReturnType<typeof ok<T>>
}

/** Any other status with its own body. */
export function reply<const S extends number, B>(
  status: S,
  body: B,
  headers: Readonly<Record<string, string>> = {},
): Reply<S, B> {
  return { status, body, headers }
}

/** 200 without a body, where the contract requires it. */
export function empty(): Reply<200, undefined> {
  return { status: 200, body: undefined }
}
