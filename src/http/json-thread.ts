import { AppError } from '../core/error.ts'
import { decode, parseJson } from './json-body.ts'

/** What a thread makes of a body. Errors lose their class between threads, so it returns what the main thread throws. */
export type ParsedBody =
  | { readonly value: unknown }
  | { readonly refusal: { readonly code: string; readonly message: string } }

/** Decodes and parses a JSON body, in a thread of `JsonParser`. */
export default function parse({ bytes, most }: { readonly bytes: Uint8Array; readonly most: number }): ParsedBody {
  try {
    return { value: parseJson(decode(bytes), most) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refusal: { code: error.code, message: error.message } }
  }
}
