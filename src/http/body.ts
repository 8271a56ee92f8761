import { networkOf } from '../tools/network-address.ts'
import { UnsupportedMediaType } from '../core/errors.ts'
import { DEFAULT_BODY_LIMIT } from '../core/limits.ts'
import type { UploadDeclaration } from '../core/upload.ts'
import type { BodyStream } from './body-stream.ts'
import { digested } from './content-digest.ts'
import { decode, mostMarks } from './json-body.ts'
import { LARGE_BODY, type JsonParser } from './json-parser.ts'
import type { PipelineOptions } from './pipeline.ts'
import type { RequestState } from './request-state.ts'
import { openUpload, takeBody } from './upload.ts'

/**
 * Step: reads the body, or attaches to the body of an upload before the first await.
 * @throws AppError unsupported_media_type, payload_too_large, request_timeout, overloaded
 */
export function readBody(state: RequestState, { buffers }: PipelineOptions): void | Promise<void> {
  const { op } = state.compiled
  if (op.upload) state.stream = takeBody(op, op.upload, state.exchange, buffers)
  else if (op.method !== 'GET') return readBytes(state)
}

async function readBytes(state: RequestState): Promise<void> {
  const { compiled, exchange } = state
  const { op } = compiled
  const { contentType } = exchange.headers
  const type = op.bodyType ?? 'application/json'
  if (op.body !== undefined && contentType !== '' && contentType !== type && bareType(contentType) !== type) {
    throw UnsupportedMediaType({ message: `The content type must be ${type}, not ${bareType(contentType)}.` })
  }
  const bytes = await exchange.body(op.body === undefined ? 1_000 : (op.bodyLimit ?? DEFAULT_BODY_LIMIT))
  if (op.body !== undefined && bytes.length > 0 && contentType === '') {
    throw UnsupportedMediaType({ message: `The Content-Type header is missing. Send Content-Type: ${type}.` })
  }
  state.bytes = bytes
}

/**
 * Step: decodes the body: as text, or as the fields and the file of an upload, which takes an upload slot. Parses a large
 * JSON body, too, in a thread.
 * @throws AppError bad_request, payload_too_large, too_many_uploads, overloaded
 */
export function openBody(state: RequestState, { json, uploads }: PipelineOptions): void | Promise<void> {
  const { bytes, compiled, stream } = state
  const { op } = compiled
  if (op.upload === undefined || stream === undefined) {
    if (bytes === undefined) return
    if (op.bodyType === undefined && bytes.length >= LARGE_BODY) return parseLarge(state, bytes, json)
    state.text = decode(bytes)
    return
  }
  state.leaveUploads = uploads.enter(state.caller?.userId ?? networkOf(state.remoteAddress))
  return openFile(state, op.upload, stream)
}

async function parseLarge(state: RequestState, bytes: Buffer, json: JsonParser): Promise<void> {
  const { op } = state.compiled
  state.body = await json.parse(bytes, mostMarks(op), op.body)
  state.isParsed = true
}

async function openFile(state: RequestState, declaration: UploadDeclaration, stream: BodyStream): Promise<void> {
  const { text, upload } = await openUpload(declaration, state.exchange, stream)
  state.text = text
  state.upload = upload
  if (!state.isKeyed) return
  const file = digested(upload)
  state.upload = file.upload
  state.content = file.digest
}

/** A media type without its parameters. */
function bareType(contentType: string): string {
  return contentType.split(';', 1)[0]!.trim().toLowerCase()
}
