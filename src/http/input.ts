import type { AppError, FieldError } from '../core/error.ts'
import { NotFound, ValidationFailed } from '../core/errors.ts'
import type { NamedOperation } from '../core/operation.ts'
import { errorsOfParameters, queryReader, type QueryValues } from '../core/query-reader.ts'
import { validator, type Validator } from '../core/validate.ts'
import { mostMarks, parseJson, requireText } from './json-body.ts'
import type { RequestState } from './request-state.ts'

/** The parsers and validators of one operation's input. */
export interface InputReader {
  readonly op: NamedOperation
  readonly pathNames: readonly string[]
  readonly checkPath: Validator | undefined
  readonly readQuery: (text: string) => QueryValues
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
    readQuery: queryReader(op.query ?? { properties: {} }, '/query'),
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
  const { compiled, parameters, queryText, text } = state
  const { reader } = compiled
  const errors: NonNullable<AppError['errors']>[number][] = []
  const path = reader.checkPath ? readPath(reader, reader.checkPath, parameters) : {}
  let query: unknown = {}
  if (reader.checkQuery) {
    const read = reader.readQuery(queryText)
    const checked = reader.checkQuery(read.values)
    errors.push(...read.errors)
    if (checked.ok) query = checked.value
    else errors.push(...errorsOfParameters(checked.errors, read.values))
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
    if (text === '' && !state.isParsed && reader.op.bodyOptional) body = undefined
    else {
      const checked = reader.checkBody(state.isParsed ? state.body : reader.parse(text))
      if (checked.ok) body = checked.value
      else errors.push(...(reader.op.upload ? checked.errors.map(beforeFile) : checked.errors))
    }
  }
  if (errors.length > 0) throw ValidationFailed({ errors })
  state.path = path
  state.query = query
  state.body = body
}

/** Fields are checked before the file is read. A field after the file is not there yet. */
function beforeFile(error: FieldError): FieldError {
  return error.code === 'required' ? { ...error, message: 'is required, before the file' } : error
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
  if (op.upload) {
    const read = queryReader(op.body ?? { properties: {} }, '/body')
    return (text) => {
      const { errors, values } = read(text)
      if (errors.length > 0) throw ValidationFailed({ errors })
      return values
    }
  }
  return op.bodyType === undefined ? (text) => parseJson(text, mostMarks(op)) : requireText
}
