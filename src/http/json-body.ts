import { isUtf8 } from 'node:buffer'
import { BadRequest, PayloadTooLarge, ValidationFailed } from '../core/errors.ts'
import { DEFAULT_JSON_MARKS, hasTooManyMarks } from '../tools/json-size.ts'
import type { NamedOperation } from '../core/operation.ts'

/** How many fields and items the JSON body of an operation may have. See `hasTooManyMarks`. */
export function mostMarks({ bodyMarks = DEFAULT_JSON_MARKS }: Pick<NamedOperation, 'bodyMarks'>): number {
  return bodyMarks
}

/**
 * The body as text.
 * @throws AppError bad_request
 */
export function decode(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw BadRequest({ message: 'The body is not valid UTF-8. Encode it as UTF-8.' })
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/**
 * The value of a JSON body.
 * @throws AppError validation_failed if it is empty, payload_too_large, bad_request
 */
export function parseJson(text: string, most: number): unknown {
  requireText(text)
  if (hasTooManyMarks(text, most)) {
    const message = `The body has more than ${most} fields and list items. Send it in several requests.`
    throw PayloadTooLarge({ message })
  }
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw BadRequest({ message: `The body is not valid JSON: ${(error as Error).message}.` })
  }
}

/** @throws AppError validation_failed */
export function requireText(text: string): string {
  if (text !== '') return text
  throw ValidationFailed({
    message: 'The request has no body. Send the body that /docs describes for this operation.',
    errors: [{ path: '/body', code: 'required', message: 'is required' }],
  })
}
