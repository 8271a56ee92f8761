import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { Readable } from 'node:stream'
import { AppError } from '../core/error.ts'
import type { ByteRange } from '../core/reply.ts'
import { StorageFull, StorageUnavailable } from './errors.ts'
import { S3Pieces } from './s3-pieces.ts'
import {
  checkKey,
  isKey,
  type PutOptions,
  type SignedGetOptions,
  type SignedPutOptions,
  type SignedRequest,
  type Storage,
  type StoredFile,
} from './storage.ts'

export interface S3Options {
  readonly bucket: string
  readonly region: string
  /** Of another S3-compatible service than AWS. */
  readonly endpoint?: string
  /** Without them the SDK looks where it always looks: profile, instance role. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string }
  /** Bucket in the path instead of the host name: what most services other than AWS need. */
  readonly pathStyle: boolean
  /** Milliseconds without a word from the service, after which it counts as away; 10 s when absent. */
  readonly silentMs?: number
}

/** Longest silence of a service that is there: so many tries of it, and whoever asked is told that it is away. */
const TRIES = 3
const CONNECT_MS = 3_000
const SILENT_MS = 10_000
/** A copy of the largest file, during which some services say nothing. */
const COPYING_MS = 300_000

/** Files in a bucket. Parts of a file that was cut off are thrown away by the SDK itself, or by the bucket's own rule. */
export class S3Storage implements Storage {
  readonly kind = 's3'
  readonly pieces: S3Pieces
  readonly #client: S3Client
  /** For what takes long by itself, or is read slowly: silence is not told from a reader that takes its time. */
  readonly #patient: S3Client
  readonly #silentMs: number
  readonly #bucket: string

  constructor(options: S3Options) {
    this.#bucket = options.bucket
    this.#silentMs = options.silentMs ?? SILENT_MS
    const settings = {
      region: options.region,
      forcePathStyle: options.pathStyle,
      ...(options.endpoint && { endpoint: options.endpoint }),
      ...(options.credentials && { credentials: options.credentials }),
      // A checksum that the caller binds is enough; services other than AWS stumble over the new default ones.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: TRIES,
    } satisfies S3ClientConfig
    const waiting = (socketTimeout: number) => ({ connectionTimeout: CONNECT_MS, socketTimeout })
    this.#client = new S3Client({ ...settings, requestHandler: waiting(this.#silentMs) })
    this.#patient = new S3Client({ ...settings, requestHandler: waiting(COPYING_MS) })
    this.pieces = new S3Pieces({
      put: (key, body, putOptions) => this.put(key, body, putOptions),
      get: (key, range) => this.get(key, range),
      delete: (key) => this.delete(key),
      sizes: async (prefix) => {
        const found: { key: string; size: number }[] = []
        for await (const object of this.#objects(prefix)) found.push(object)
        return found
      },
    })
  }

  async put(key: string, body: Readable, options: PutOptions): Promise<StoredFile> {
    let size = 0
    const counted = body.on('data', (chunk: Buffer) => void (size += chunk.length)).pause()
    const upload = new Upload({
      client: this.#client,
      params: { Bucket: this.#bucket, Key: checkKey(key), Body: counted, ContentType: options.type },
      partSize: 8 * 1024 * 1024,
      queueSize: 2,
      leavePartsOnError: false,
    })
    // The SDK waits for a body that broke; a broken body ends the upload.
    body.once('error', () => void upload.abort())
    try {
      await upload.done()
    } catch (error) {
      throw body.errored ?? storageError(error)
    } finally {
      body.destroy()
    }
    if (options.size !== undefined && size !== options.size) {
      await this.delete(key)
      throw new Error(`${size} bytes came for a file of ${options.size}`)
    }
    return (await this.stat(key)) ?? { size, modifiedAt: '' }
  }

  async get(key: string, range?: ByteRange): Promise<Readable | undefined> {
    const wanted = { Bucket: this.#bucket, Key: checkKey(key) }
    const part = range && { Range: `bytes=${range.start}-${range.end}` }
    const silent = new AbortController()
    const timer = setTimeout(() => silent.abort(), TRIES * this.#silentMs)
    const found = await this.#patient
      .send(new GetObjectCommand({ ...wanted, ...part }), { abortSignal: silent.signal })
      .catch(missing)
      .finally(() => clearTimeout(timer))
    return found?.Body as Readable | undefined
  }

  blocks(key: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | undefined> {
    return this.get(key, range)
  }

  async stat(key: string): Promise<StoredFile | undefined> {
    const found = await this.#client
      .send(new HeadObjectCommand({ Bucket: this.#bucket, Key: checkKey(key) }))
      .catch(missing)
    return found && { size: found.ContentLength ?? 0, modifiedAt: (found.LastModified ?? new Date(0)).toISOString() }
  }

  async copy(from: string, to: string): Promise<void> {
    const source = `${this.#bucket}/${checkKey(from)}`
    await this.#patient
      .send(new CopyObjectCommand({ Bucket: this.#bucket, Key: checkKey(to), CopySource: source }))
      .catch((error: unknown) => {
        throw storageError(error)
      })
  }

  async delete(key: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: checkKey(key) })).catch(missing)
  }

  list(): AsyncIterable<{ key: string; modifiedAt: string }> {
    return this.#objects()
  }

  /** In the order of their keys. */
  async *#objects(prefix?: string): AsyncGenerator<{ key: string; modifiedAt: string; size: number }> {
    let token: string | undefined
    do {
      const page = await this.#client
        .send(
          new ListObjectsV2Command({
            Bucket: this.#bucket,
            ...(prefix && { Prefix: prefix }),
            ...(token && { ContinuationToken: token }),
          }),
        )
        .catch((error: unknown) => {
          throw storageError(error)
        })
      for (const { Key, LastModified, Size } of page.Contents ?? []) {
        if (Key && isKey(Key))
          yield { key: Key, modifiedAt: (LastModified ?? new Date(0)).toISOString(), size: Size ?? 0 }
      }
      token = page.NextContinuationToken
    } while (token)
  }

  async sweep(): Promise<number> {
    return 0
  }

  async ping(): Promise<void> {
    await this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket })).catch((error: unknown) => {
      throw storageError(error)
    })
  }

  localPath(): undefined {
    return undefined
  }

  signedGet(key: string, options: SignedGetOptions): Promise<string> {
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: checkKey(key),
      ResponseContentType: options.type,
      ResponseContentDisposition: options.disposition,
    })
    return getSignedUrl(this.#client, command, { expiresIn: options.expiresInSeconds })
  }

  async signedPut(key: string, options: SignedPutOptions): Promise<SignedRequest> {
    const checksum = options.sha256 && Buffer.from(options.sha256, 'hex').toString('base64')
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: checkKey(key),
      ContentType: options.type,
      ContentLength: options.size,
      ...(checksum && { ChecksumSHA256: checksum }),
    })
    const bound = ['content-type', 'content-length', ...(checksum ? ['x-amz-checksum-sha256'] : [])]
    const url = await getSignedUrl(this.#client, command, {
      expiresIn: options.expiresInSeconds,
      signableHeaders: new Set([...bound, 'host']),
      // Left as headers: a header that is only part of the query binds nothing.
      unhoistableHeaders: new Set(bound),
    })
    return {
      url,
      headers: {
        'Content-Type': options.type,
        'Content-Length': String(options.size),
        ...(checksum && { 'x-amz-checksum-sha256': checksum }),
      },
    }
  }

  close(): void {
    this.#client.destroy()
    this.#patient.destroy()
  }
}

interface S3Error {
  readonly name?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

function missing(error: unknown): undefined {
  const { name, $metadata } = error as S3Error
  if (name === 'NoSuchKey' || name === 'NotFound' || $metadata?.httpStatusCode === 404) return undefined
  throw storageError(error)
}

/** Whatever S3 says no to, it is not the caller's fault: keys and bucket are ours. */
function storageError(error: unknown): unknown {
  if (error instanceof AppError) return error
  if ((error as S3Error).$metadata?.httpStatusCode === 507) return StorageFull({ cause: error })
  return StorageUnavailable({ cause: error, retryAfter: 10 })
}
