import type { AppError } from '../core/error.ts'
import { BadRequest, NotFound, PayloadTooLarge, ValidationFailed } from '../core/errors.ts'
import { hasTooManyMarks, MOST_JSON_MARKS } from '../core/json-size.ts'
import type { NamedOperation } from '../core/operation.ts'
import { queryReader } from '../core/query-reader.ts'
import { validator, type Validator } from '../core/validate.ts'
import type { RequestState } from './request-state.ts'

/** The parsers and validators of one operation's input. */
export interface InputReader {
  readonly op: NamedOperation
  readonly pathNames: readonly string[]
  readonly checkPath: Validator | undefined
  readonly readQuery: (text: string) => Record<string, unknown>
  readonly checkQuery: Validator | undefined
  readonly checkBody: Validator | undefined
  /** Parses the text of a body: JSON, or the fields before a file. */
  readonly parse: (text: string) => unknown
}

export function inputReader(op: NamedOperation): InputReader {
  return {
    op,
    pathNames: [...op.pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string),
    checkPath: op.path && validator(op.path, '/path'),
    readQuery: queryReader(op.query ?? { properties: {} }),
    checkQuery: op.query && validator(op.query, '/query'),
    checkBody: op.body && validator(op.body, '/body', op.resource),
    parse: parserOf(op),
  }
}

/**
 * Step: parses and validates path, query and body against the schemas of the operation.
 * @throws AppError validation_failed, bad_request, not_found, payload_too_large
 */
export function readFields(state: RequestState): void {
  const { compiled, exchange, parameters, text } = state
  const { reader } = compiled
  const errors: NonNullable<AppError['errors']>[number][] = []
  const path = reader.checkPath ? readPath(reader, reader.checkPath, parameters) : {}
  let query: unknown = {}
  const { query: queryText } = exchange
  if (reader.checkQuery) {
    const checked = reader.checkQuery(reader.readQuery(queryText))
    if (checked.ok) query = checked.value
    else errors.push(...checked.errors)
  } else if (queryText !== '') {
    for (const name of new URLSearchParams(queryText).keys()) {
      errors.push({
        path: `/query/${name}`,
        code: 'unknown_field',
        message: 'is not a parameter of this operation; leave it out',
      })
    }
  }
  let body: unknown
  if (reader.checkBody) {
    if (text === '' && reader.op.bodyOptional) body = undefined
    else {
      const checked = reader.checkBody(reader.parse(text))
      if (checked.ok) body = checked.value
      else errors.push(...checked.errors)
    }
  }
  if (errors.length > 0) throw ValidationFailed({ errors })
  state.path = path
  state.query = query
  state.body = body
}

/** A path whose parameters cannot be ids refers to nothing, so it is not found. */
function readPath(reader: InputReader, check: Validator, parameters: readonly string[]): unknown {
  const path: Record<string, string> = {}
  reader.pathNames.forEach((name, index) => {
    try {
      path[name] = decodeURIComponent(parameters[index] ?? '')
    } catch {
      throw NotFound()
    }
  })
  const checked = check(path)
  if (!checked.ok) throw NotFound()
  return checked.value
}

function parserOf(op: NamedOperation): InputReader['parse'] {
  if (op.upload) return queryReader(op.body ?? { properties: {} })
  return op.bodyType === undefined ? parseJson : requireText
}

function requireText(text: string): string {
  if (text !== '') return text
  throw ValidationFailed({
    message: 'The request has no body. Send the body that /docs describes for this operation.',
    errors: [{ path: '/body', code: 'required', message: 'is required' }],
  })
}

function parseJson(text: string): unknown {
  requireText(text)
  if (hasTooManyMarks(text)) {
    const message = `The body has more than ${MOST_JSON_MARKS} fields and list items. Send it in several requests.`
    throw PayloadTooLarge({ message })
  }
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw BadRequest({ message: `The body is not valid JSON: ${(error as Error).message}.` })
  }
}
