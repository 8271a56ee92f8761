import { Busboy } from '@fastify/busboy'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { AppError } from '../core/error.ts'
import { BadRequest, ValidationFailed } from '../core/errors.ts'
import { tooLarge } from './body-stream.ts'
import { cleanText } from '../tools/clean-text.ts'

/** The name of the part that is the file. */
const FILE_PART = 'file'

export interface MultipartFile {
  readonly stream: Readable
  readonly name: string
  readonly type: string
}

/**
 * Parses a multipart body up to its file. The fields must come first, because access checks need them before the file
 * is read. Parts after the file make the file's stream fail at its end.
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
      if (nameCut || valueCut)
        fault ??= BadRequest({
          message: `The field ${name.slice(0, 40)} is too long. Its name can have up to 100 bytes, and its value up to 20,000.`,
        })
      else if (out)
        fault ??= BadRequest({ message: `The field ${name} comes after the file. Send all fields before the file.` })
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
      // The file may fail before the handler has added its own listener.
      file.on('error', () => {})
      stream.on('limit', () => file.destroy(tooLarge(maxBytes)))
      stream.on('error', (error) => file.destroy(asAppError(error)))
      // The stream ends only after the whole body was parsed.
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
    message: 'The file is missing. Send it as the part `file`, after the fields.',
    errors: [{ path: '/body/file', code: 'required', message: 'is required, after the fields' }],
  })
}

/** Old browsers sent full paths, and attackers send `../`. */
function baseName(name: string | undefined): string {
  return (
    cleanText(name ?? '')
      .split(/[/\\]/)
      .at(-1)
      ?.trim() ?? ''
  )
}
