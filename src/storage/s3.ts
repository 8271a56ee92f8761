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
  /** The URL of an S3-compatible service other than AWS. */
  readonly endpoint?: string
  /** Without them, the SDK uses its default chain: environment, profile, instance role. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string }
  /** Puts the bucket in the path instead of the host name, as most services other than AWS require. */
  readonly pathStyle: boolean
  /** Milliseconds of inactivity after which an attempt fails. Defaults to 10 s. */
  readonly socketTimeoutMs?: number
}

/** The service counts as unavailable after this many attempts with these timeouts. */
const MAX_ATTEMPTS = 3
const CONNECT_MS = 3_000
const SOCKET_TIMEOUT_MS = 10_000
/** Timeout for requests during which some services are inactive, such as a copy of the largest file. */
const SLOW_TIMEOUT_MS = 300_000

/** Stores files in a bucket. The SDK aborts unfinished multipart uploads; a lifecycle rule of the bucket removes any others. */
export class S3Storage implements Storage {
  readonly kind = 's3'
  readonly pieces: S3Pieces
  readonly #client: S3Client
  /** For slow requests, and for reads: the timeout cannot tell a slow reader from an inactive service. */
  readonly #slowClient: S3Client
  readonly #socketTimeoutMs: number
  readonly #bucket: string

  constructor(options: S3Options) {
    this.#bucket = options.bucket
    this.#socketTimeoutMs = options.socketTimeoutMs ?? SOCKET_TIMEOUT_MS
    const settings = {
      region: options.region,
      forcePathStyle: options.pathStyle,
      ...(options.endpoint && { endpoint: options.endpoint }),
      ...(options.credentials && { credentials: options.credentials }),
      // The caller's checksum is enough. Services other than AWS may refuse the SDK's default checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: MAX_ATTEMPTS,
    } satisfies S3ClientConfig
    const requestHandler = (socketTimeout: number) => ({ connectionTimeout: CONNECT_MS, socketTimeout })
    this.#client = new S3Client({ ...settings, requestHandler: requestHandler(this.#socketTimeoutMs) })
    this.#slowClient = new S3Client({ ...settings, requestHandler: requestHandler(SLOW_TIMEOUT_MS) })
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
    // The SDK waits forever for a failed body, so a failure aborts the upload.
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
      throw new Error(`received ${size} bytes of a file of ${options.size} bytes`)
    }
    return (await this.stat(key)) ?? { size, modifiedAt: '' }
  }

  async get(key: string, range?: ByteRange): Promise<Readable | undefined> {
    const object = { Bucket: this.#bucket, Key: checkKey(key) }
    const part = range && { Range: `bytes=${range.start}-${range.end}` }
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), MAX_ATTEMPTS * this.#socketTimeoutMs)
    const found = await this.#slowClient
      .send(new GetObjectCommand({ ...object, ...part }), { abortSignal: timeout.signal })
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
    await this.#slowClient
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

  /** The objects with this prefix, in the order of their keys. */
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
    const signedHeaders = ['content-type', 'content-length', ...(checksum ? ['x-amz-checksum-sha256'] : [])]
    const url = await getSignedUrl(this.#client, command, {
      expiresIn: options.expiresInSeconds,
      signableHeaders: new Set([...signedHeaders, 'host']),
      // Keep these as headers. As query parameters, they would not restrict the request.
      unhoistableHeaders: new Set(signedHeaders),
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
    this.#slowClient.destroy()
  }
}

interface S3Error {
  readonly name?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

/** Returns undefined for a missing object, and throws all other errors. */
function missing(error: unknown): undefined {
  const { name, $metadata } = error as S3Error
  if (name === 'NoSuchKey' || name === 'NotFound' || $metadata?.httpStatusCode === 404) return undefined
  throw storageError(error)
}

/** Converts errors of S3. No error is the caller's fault, because the caller chooses neither key nor bucket. */
function storageError(error: unknown): unknown {
  if (error instanceof AppError) return error
  if ((error as S3Error).$metadata?.httpStatusCode === 507) return StorageFull({ cause: error })
  return StorageUnavailable({ cause: error, retryAfter: 10 })
}
