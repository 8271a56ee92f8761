import { createHash } from 'node:crypto'
import { pipeline, Transform } from 'node:stream'
import type { Upload } from '../core/upload.ts'

/** An upload whose content is hashed while it is read. */
export interface DigestedUpload {
  readonly upload: Upload
  /**
   * The digest of the file: its content, name, type and range (Content-Range). Reads the rest of the file if necessary.
   * @returns undefined when the reader stopped before the end, so that the content is not known
   * @throws AppError bad_request when the connection ends before the body
   */
  readonly digest: () => Promise<string | undefined>
}

/**
 * Hashes a file on its way to the handler, so that an idempotency key covers the content. The file is not held in
 * memory.
 */
export function digested(upload: Upload): DigestedUpload {
  const hash = createHash('sha256')
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  // The reader gets errors from the stream itself.
  stream.on('error', () => {})
  pipeline(upload.stream, stream, () => {})
  const { contentRange, name, type } = upload
  return {
    upload: { ...upload, stream, blocks: stream },
    digest: async () => {
      if (stream.destroyed && !stream.readableEnded && !stream.errored) return undefined
      if (!stream.readableEnded) for await (const _ of stream);
      return JSON.stringify([name, type, contentRange, hash.digest('hex')])
    },
  }
}
