import type { Readable } from 'node:stream'
import type { ByteRange } from '../core/reply.ts'

/** What is known of a stored file. */
export interface StoredFile {
  readonly size: number
  /** ISO 8601. */
  readonly modifiedAt: string
}

export interface PutOptions {
  /** Media type, kept with the file where the driver can. */
  readonly type: string
  /** Bytes, when they are known: another number is an error. */
  readonly size?: number
}

/** What a signed URL for uploading binds: nothing else can be sent to it. */
export interface SignedPutOptions {
  readonly size: number
  readonly type: string
  /** SHA-256, hexadecimal. */
  readonly sha256?: string
  readonly expiresInSeconds: number
}

export interface SignedRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export interface SignedGetOptions {
  readonly type: string
  /** Value of Content-Disposition. */
  readonly disposition: string
  readonly expiresInSeconds: number
}

/**
 * Where files live. A key is `<workspace or user id>/<file id>` with an optional `.variant`; what is under a key never
 * changes, so a key is written once. A file appears whole or not at all.
 *
 * Every method throws `storage_unavailable` when the place cannot be reached.
 */
export interface Storage {
  readonly kind: 'disk' | 's3'
  /**
   * Stores a stream. @returns its size
   * @throws AppError storage_full; whatever the stream itself fails with, and then nothing is kept
   */
  put(key: string, body: Readable, options: PutOptions): Promise<StoredFile>
  /** Opens a file, or a part of it; undefined when there is none. */
  get(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** The same for whoever is done with a piece when asking for the next one, whose memory it may be. */
  blocks(key: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | undefined>
  stat(key: string): Promise<StoredFile | undefined>
  /** Gives a file that may still be written to, by a URL signed for it, a second key, under which it stays as it is now. */
  copy(from: string, to: string): Promise<void>
  /** Removes a file; one that is not there is no error. */
  delete(key: string): Promise<void>
  /** Every key with its age, in no order: for finding what nothing refers to. What is no key of ours is left out. */
  list(): AsyncIterable<{ readonly key: string; readonly modifiedAt: string }>
  /** Removes what cut connections and uploads that nobody knows left behind, when it is older. @returns how much was removed */
  sweep(olderThanMs: number): Promise<number>
  /** Throws when files cannot be stored right now. */
  ping(): Promise<void>
  /** Where the file lies on this machine, for programs that need a path; undefined when the driver has none. */
  localPath(key: string): string | undefined
  /** A URL from which the file can be had without a credential; undefined where files go through the API. */
  signedGet(key: string, options: SignedGetOptions): Promise<string | undefined>
  /** A URL that takes exactly this file; undefined where files go through the API. */
  signedPut(key: string, options: SignedPutOptions): Promise<SignedRequest | undefined>
  /** Files that arrive in pieces, through the API. */
  readonly pieces: PieceStore
}

/** Files that arrive in pieces over several requests. */
export interface PieceStore {
  /**
   * Adds bytes at `offset`, which must be the end of what is there; undefined begins anew. Bytes that came before a
   * failure stay.
   * @param body a piece is done with when the next one is asked for
   * @returns the length after it
   * @throws AppError storage_full; conflict, also while another request adds; whatever the body fails with
   */
  append(id: string, offset: number | undefined, body: AsyncIterable<Buffer>): Promise<number>
  /** Bytes that are there; 0 for none. */
  length(id: string): Promise<number>
  /** Makes what came the file of a key. The pieces stay until they are discarded. */
  finish(id: string, key: string): Promise<StoredFile>
  discard(id: string): Promise<void>
}

const KEY = /^[0-9a-f-]{36}\/[0-9a-f-]{36}(\.[a-z0-9-]{1,40})?$/

export function isKey(key: string): boolean {
  return KEY.test(key)
}

/** @throws Error for a key that no part of the service makes: keys are never made of what users send */
export function checkKey(key: string): string {
  if (!isKey(key)) throw new Error(`not a storage key: ${JSON.stringify(key)}`)
  return key
}
