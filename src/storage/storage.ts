import type { Readable } from 'node:stream'
import type { ByteRange } from '../core/reply.ts'

/** Metadata of a stored file. */
export interface StoredFile {
  readonly size: number
  /** ISO 8601. */
  readonly modifiedAt: string
}

export interface PutOptions {
  /** Media type. It is stored with the file if the driver supports it. */
  readonly type: string
  /** The size in bytes, if known. Another size is an error. */
  readonly size?: number
}

/** The values that a signed upload URL is restricted to. */
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
 * The storage of files. A key is `<workspace or user id>/<file id>` with an optional `.variant`. A key is written once, and
 * its content never changes. Writes are atomic.
 *
 * Every method throws `storage_unavailable` if the storage cannot be reached.
 */
export interface Storage {
  readonly kind: 'disk' | 's3'
  /**
   * Stores a stream.
   * @throws AppError storage_full, or the error of the stream. Nothing stays stored then
   */
  put(key: string, body: Readable, options: PutOptions): Promise<StoredFile>
  /** Opens a file, or a range of it. Undefined if there is no file. */
  get(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Like `get`, but blocks may share memory: the caller must be done with a block before it reads the next one. */
  blocks(key: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | undefined>
  stat(key: string): Promise<StoredFile | undefined>
  /** Copies a file to a new key. Later writes to the first key, through a signed URL, do not change the copy. */
  copy(from: string, to: string): Promise<void>
  /** Deletes a file. A missing file is not an error. */
  delete(key: string): Promise<void>
  /** Lists all keys, in no particular order. Other files and objects are skipped. */
  list(): AsyncIterable<{ readonly key: string; readonly modifiedAt: string }>
  /** Deletes older temporary files of broken connections and unknown uploads. @returns the number of deleted files */
  sweep(olderThanMs: number): Promise<number>
  /** Throws if files cannot be stored. */
  ping(): Promise<void>
  /** The path of the file on this machine. Undefined if the driver stores files elsewhere. */
  localPath(key: string): string | undefined
  /** A URL to download the file without a credential. Undefined if downloads go through the API. */
  signedGet(key: string, options: SignedGetOptions): Promise<string | undefined>
  /** A URL that accepts exactly this file. Undefined if uploads go through the API. */
  signedPut(key: string, options: SignedPutOptions): Promise<SignedRequest | undefined>
  /** Uploads in pieces through the API. */
  readonly pieces: PieceStore
}

/** Uploads whose bytes arrive in pieces over several requests. */
export interface PieceStore {
  /**
   * Appends bytes at `offset`, which must be the end of the received bytes. Undefined restarts the upload. Bytes received
   * before a failure are kept.
   * @param body its blocks may share memory
   * @returns the number of received bytes afterwards
   * @throws AppError storage_full; conflict for a wrong offset or while another request appends; the error of the body
   */
  append(id: string, offset: number | undefined, body: AsyncIterable<Buffer>): Promise<number>
  /** The number of received bytes. */
  length(id: string): Promise<number>
  /** Stores the received bytes under a key. The pieces are kept until they are discarded. */
  finish(id: string, key: string): Promise<StoredFile>
  discard(id: string): Promise<void>
}

const KEY = /^[0-9a-f-]{36}\/[0-9a-f-]{36}(\.[a-z0-9-]{1,40})?$/

/** Whether a text has the form of a storage key. */
export function isKey(key: string): boolean {
  return KEY.test(key)
}

/** @throws Error for an invalid key, which would be a bug: keys are made of ids only */
export function checkKey(key: string): string {
  if (!isKey(key)) throw new Error(`not a storage key: ${JSON.stringify(key)}`)
  return key
}
