import { STATUS_CODES } from 'node:http'
import { fieldSentence, sentence } from '../tools/sentence.ts'

/** One row of the error table. `/docs/errors` prints it, and operations declare it in `errors`. */
export interface ErrorDefinition {
  readonly code: string
  readonly status: number
  /** One sentence for the user. A thrown error may replace it with a more specific message. */
  readonly message: string
  readonly cause: string
  readonly fix: string
}

/** One invalid field of an input. `path` is a JSON pointer (RFC 6901) into `/body`, `/query`, `/path` or `/headers`. */
export interface FieldError {
  readonly path: string
  readonly code: string
  readonly message: string
}

/** The maximum number of invalid fields in one reply. Whatever looks for them can stop there. */
export const MAX_FIELD_ERRORS = 20

export interface AppErrorOptions {
  /** The message to use, a sentence. Without it, the message is built from `errors`, if there are any. */
  readonly message?: string
  readonly errors?: readonly FieldError[] | undefined
  /** Seconds; becomes the Retry-After header. */
  readonly retryAfter?: number | undefined
  /** Extra facts for the caller, added to the error body (for example the limit that was reached). */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** What the operator of the server can do about it. It is logged, and sent to platform administrators only. */
  readonly hint?: string | undefined
  /** The underlying error. It is logged and never sent. */
  readonly cause?: unknown
}

/** An error that the caller may see. Any other thrown error becomes `internal_error`. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly definition: ErrorDefinition
  readonly errors: readonly FieldError[] | undefined
  readonly retryAfter: number | undefined
  readonly details: AppErrorOptions['details']
  readonly hint: string | undefined

  constructor(definition: ErrorDefinition, options: AppErrorOptions = {}) {
    super(sentence(options.message ?? sentenceOf(options.errors) ?? definition.message), { cause: options.cause })
    this.definition = definition
    this.errors = options.errors?.slice(0, MAX_FIELD_ERRORS)
    this.retryAfter = options.retryAfter
    this.details = options.details
    this.hint = options.hint
  }

  get code(): string {
    return this.definition.code
  }

  get status(): number {
    return this.definition.status
  }
}

/** A sentence that describes the first field error; undefined if there are none. */
function sentenceOf(errors: readonly FieldError[] = []): string | undefined {
  const [first, ...others] = errors
  if (first === undefined) return undefined
  return fieldSentence(first.path, others.length === 0 ? first.message : `${first.message} (and ${others.length} more)`)
}

/** An error definition that can be thrown: `throw NotFound()`, `throw PlanLimit({ message, details })`. */
export interface ErrorFactory extends ErrorDefinition {
  (options?: AppErrorOptions): AppError
}

const table = new Map<string, ErrorDefinition>()

/** Adds a row to the error table. Codes are unique and never change after release. */
export function defineError(definition: ErrorDefinition): ErrorFactory {
  if (table.has(definition.code)) throw new Error(`error code ${definition.code} is defined twice`)
  if (STATUS_CODES[definition.status] === undefined) throw new Error(`${definition.status} is not an HTTP status`)
  table.set(definition.code, definition)
  const factory = (options?: AppErrorOptions) => new AppError(definition, options)
  return Object.assign(factory, definition)
}

/** All errors of the service by code. */
export function errorTable(): readonly ErrorDefinition[] {
  return [...table.values()].sort((a, b) => a.status - b.status || a.code.localeCompare(b.code))
}
