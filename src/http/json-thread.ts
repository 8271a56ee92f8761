import { AppError } from '../core/error.ts'
import { cutTexts } from '../core/cut-texts.ts'
import { DEFAULT_JSON_MARKS, hasTooManyMarks } from '../tools/json-size.ts'
import type { JsonSchema } from '../core/validation-sentences.ts'
import { decode, parseJson } from './json-body.ts'

/** What a thread makes of a body. Errors lose their class between threads, so it returns what the main thread throws. */
export type ParsedBody =
  | { readonly value: unknown }
  /** It is valid JSON, but to copy its value to another thread takes longer than to parse it there. */
  | { readonly isValid: true }
  | { readonly refusal: { readonly code: string; readonly message: string } }

/** What a thread gets. */
export interface UnparsedBody {
  readonly bytes: Uint8Array
  /** How many fields and items it may have. */
  readonly most: number
  /** What it will be validated against. */
  readonly schema: JsonSchema | undefined
}

/** Decodes and parses a JSON body, in a thread of `JsonParser`. Cuts texts that will be refused. */
export default function parse({ bytes, most, schema }: UnparsedBody): ParsedBody {
  try {
    const text = decode(bytes)
    const value = parseJson(text, most)
    return hasTooManyMarks(text, DEFAULT_JSON_MARKS) ? { isValid: true } : { value: cutTexts(value, schema) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refusal: { code: error.code, message: error.message } }
  }
}
