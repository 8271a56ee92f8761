import { Busboy } from '@fastify/busboy'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { AppError } from '../core/error.ts'
import { BadRequest, ValidationFailed } from '../core/errors.ts'
import { tooLarge } from './body-stream.ts'

/** The part that is the file. */
const FILE_PART = 'file'

export interface MultipartFile {
  readonly stream: Readable
  readonly name: string
  readonly type: string
}

/**
 * Reads a multipart body up to its file. The fields come first, because who sends them decides whether the file is
 * taken at all; what follows the file is refused, as the last thing that the file's stream says.
 * @throws AppError bad_request, validation_failed (no file), payload_too_large
 */
export function openMultipart(
  body: Readable,
  contentType: string,
  maxBytes: number,
): Promise<{ fields: URLSearchParams; file: MultipartFile }> {
  return new Promise((resolve, reject) => {
    const fields = new URLSearchParams()
    let out: PassThrough | undefined
    let fault: AppError | undefined
    const parser = parserOf(contentType, maxBytes)
    parser.on('field', (name, value, nameCut, valueCut) => {
      if (nameCut || valueCut) fault ??= BadRequest({ message: `The field ${name.slice(0, 40)} is too long.` })
      else if (out) fault ??= BadRequest({ message: `The field ${name} comes after the file: fields come first.` })
      else fields.append(name, value)
    })
    parser.on('file', (part, stream, filename, _encoding, mimeType) => {
      if (out !== undefined || part !== FILE_PART || fault) {
        fault ??= BadRequest({ message: `Send one file, as the part \`${FILE_PART}\`.` })
        stream.resume()
        return
      }
      const file = new PassThrough({ highWaterMark: 64 * 1024 })
      out = file
      // It may fail before the handler that is to hear of it runs.
      file.on('error', () => {})
      stream.on('limit', () => file.destroy(tooLarge(maxBytes)))
      stream.on('error', (error) => file.destroy(asAppError(error)))
      // The end comes only when the whole body was understood.
      stream.pipe(file, { end: false })
      file.on('close', () => stream.resume())
      resolve({ fields, file: { stream: file, name: baseName(filename), type: mimeType } })
    })
    pipeline(body, parser, (error) => {
      const failure = error ? asAppError(error) : fault
      if (out === undefined) reject(failure ?? noFile())
      else if (failure) out.destroy(failure)
      else out.end()
    })
  })
}

function parserOf(contentType: string, maxBytes: number): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { fieldNameSize: 100, fieldSize: 20_000, fields: 50, files: 2, fileSize: maxBytes, headerPairs: 40 },
    })
  } catch (error) {
    throw asAppError(error as Error)
  }
}

function asAppError(error: Error): AppError {
  if (error instanceof AppError) return error
  return BadRequest({ message: `The multipart body cannot be read: ${error.message}.` })
}

function noFile(): AppError {
  return ValidationFailed({
    message: 'file is required.',
    errors: [{ path: '/body/file', code: 'required', message: 'is required, after the fields' }],
  })
}

/** Browsers of old sent whole paths, and attackers send `../`. */
function baseName(name: string | undefined): string {
  return (name ?? '').split(/[/\\]/).at(-1)?.trim() ?? ''
}
