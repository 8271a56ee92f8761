import { UnsupportedMediaType } from '../core/errors.ts'
import type { NamedOperation } from '../core/operation.ts'
import type { Upload, UploadDeclaration } from '../core/upload.ts'
import type { BodyStream } from './body-stream.ts'
import type { Exchange } from './exchange.ts'
import { openMultipart } from './multipart.ts'
import type { ReceiveBuffers } from './receive-buffers.ts'

/** Limits of a multipart body besides its file: boundaries, headers and fields. */
const MULTIPART_OVERHEAD = 200_000

/**
 * Attaches to a body that is to be streamed, before the first await. Reads nothing yet.
 * @throws AppError unsupported_media_type, payload_too_large
 */
export function takeBody(
  op: NamedOperation,
  upload: UploadDeclaration,
  { http: exchange }: Exchange,
  buffers: ReceiveBuffers,
): BodyStream {
  if (!exchange) throw new Error(`${op.name} takes a file, which a socket cannot carry`)
  const multipart = upload.kind === 'multipart'
  if (multipart && !/^multipart\/form-data\s*;/i.test(exchange.headers.contentType)) {
    const fields = op.body ? 'the fields first, then the file as the part `file`' : 'the file as the part `file`'
    throw UnsupportedMediaType({ message: `The content type must be multipart/form-data. Send ${fields}.` })
  }
  return exchange.streamBody(upload.maxBytes + (multipart ? MULTIPART_OVERHEAD : 0), buffers)
}

/**
 * The fields of an upload, as query text, and its file.
 * @throws AppError bad_request, payload_too_large
 */
export async function openUpload(
  upload: UploadDeclaration,
  exchange: Exchange,
  body: BodyStream,
): Promise<{ text: string; upload: Upload }> {
  const { contentLength, contentType } = exchange.headers
  const common = {
    announced: contentLength === '' ? undefined : Number(contentLength),
    contentRange: exchange.http?.extra['content-range'] ?? '',
  }
  if (upload.kind === 'raw') {
    return { text: '', upload: { ...common, stream: body, blocks: body.blocks(), name: '', type: contentType } }
  }
  const { fields, file } = await openMultipart(body, contentType, upload.maxBytes)
  return { text: fields.toString(), upload: { ...common, ...file, blocks: file.stream } }
}
