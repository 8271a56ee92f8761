import { STATUS_CODES } from 'node:http'

/** One row of the error table: what `/docs/errors` prints and what an operation may declare. */
export interface ErrorDefinition {
  readonly code: string
  readonly status: number
  /** One sentence for the person who reads the reply; a thrown error may say it more exactly. */
  readonly message: string
  readonly cause: string
  readonly fix: string
}

/** One fault of an input. `path` is a JSON pointer (RFC 6901) into `/body`, `/query`, `/path` or `/headers`. */
export interface FieldError {
  readonly path: string
  readonly code: string
  readonly message: string
}

export interface AppErrorOptions {
  /** What `errors` say, when it is absent and they are there. */
  readonly message?: string
  readonly errors?: readonly FieldError[]
  /** Seconds; becomes the Retry-After header. */
  readonly retryAfter?: number
  /** Facts for the caller, added to the error body (for example the limit that was reached). */
  readonly details?: Readonly<Record<string, string | number | boolean | null>>
  /** What went wrong underneath: logged, never sent. */
  readonly cause?: unknown
}

/** An error that the caller may see. Everything else that is thrown is answered as `internal_error`. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly definition: ErrorDefinition
  readonly errors: readonly FieldError[] | undefined
  readonly retryAfter: number | undefined
  readonly details: AppErrorOptions['details']

  constructor(definition: ErrorDefinition, options: AppErrorOptions = {}) {
    super(options.message ?? sentenceOf(options.errors) ?? definition.message, { cause: options.cause })
    this.definition = definition
    this.errors = options.errors
    this.retryAfter = options.retryAfter
    this.details = options.details
  }

  get code(): string {
    return this.definition.code
  }

  get status(): number {
    return this.definition.status
  }
}

/** The first fault in words; undefined without any. */
function sentenceOf(errors: readonly FieldError[] = []): string | undefined {
  const [first, ...others] = errors
  if (first === undefined) return undefined
  const [, part = '', ...names] = first.path.split('/')
  const where = names.join('.') || `The ${part}`
  return `${where} ${first.message}${others.length === 0 ? '' : ` (and ${others.length} more)`}.`
}

/** A definition that can be thrown: `throw NotFound()`, `throw PlanLimit({ message, details })`. */
export interface ErrorFactory extends ErrorDefinition {
  (options?: AppErrorOptions): AppError
}

const table = new Map<string, ErrorDefinition>()

/** Adds a row to the error table. Codes are unique over the whole service and never change once published. */
export function defineError(definition: ErrorDefinition): ErrorFactory {
  if (table.has(definition.code)) throw new Error(`error code ${definition.code} is defined twice`)
  if (STATUS_CODES[definition.status] === undefined) throw new Error(`${definition.status} is no HTTP status`)
  table.set(definition.code, definition)
  const factory = (options?: AppErrorOptions) => new AppError(definition, options)
  return Object.assign(factory, definition)
}

/** Every error of the service, by code. */
export function errorTable(): readonly ErrorDefinition[] {
  return [...table.values()].sort((a, b) => a.status - b.status || a.code.localeCompare(b.code))
}
