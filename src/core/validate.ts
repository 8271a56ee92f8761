import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import type { TSchema } from 'typebox'
import type { FieldError } from './error.ts'
import { memoize } from './memoize.ts'
import { unknownField } from './unknown-field.ts'

/**
 * Validates one part of a request. Strings are trimmed, query text becomes numbers and booleans, and every invalid
 * field is reported with its JSON pointer and what it must be.
 */

interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly description?: string
  readonly format?: string
  readonly 'x-verbatim'?: boolean
  readonly 'x-judged'?: object
}

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: FieldError[] }

export type Validator = (value: unknown) => Validated

/** The maximum nesting depth of any input. Deeper input would exhaust the call stack of code that walks it. */
const MOST_LEVELS = 64

const TOO_DEEP = { code: 'too_deep', message: `must not be nested deeper than ${MOST_LEVELS} levels` }
const HALF_A_PAIR = 'must be well-formed Unicode: it has an unpaired surrogate'

/** The maximum number of errors in one reply. */
const MOST_ERRORS = 20

// The library stops at 8 by default, and errors of the members of a union count too.
Settings.Set({ maxErrors: 5 * MOST_ERRORS })

const compile = memoize((schema: TSchema) => Compile(schema))

/**
 * Makes a validator. Its schema is compiled when it is first used, because a process uses few of all operations at once.
 * @param at where the value is: `/body`, `/query` or `/path`
 * @param resource the edited resource, as replies show it. Its fields that `schema` does not have are read-only. They
 * are dropped, so that a client can send back what it received.
 */
export function validator(schema: TSchema, at: string, resource?: TSchema): Validator {
  let compiled: ReturnType<typeof compile> | undefined
  return (value) => {
    compiled ??= compile(schema)
    const found: Findings = { faults: [], unknown: [], tooDeep: false }
    const trimmed = trim(value, schema, resource, at, found, 0)
    const { faults, tooDeep, unknown } = found
    const invalid = tooDeep || compiled.Check(trimmed) ? [] : explain(compiled.Errors(trimmed), trimmed, schema, at)
    // Unknown fields come last. There can be many, and they must not hide missing ones.
    const errors = [
      ...faults,
      ...invalid.filter(({ path }) => !faults.some((fault) => fault.path === path)),
      ...unknown,
    ]
    return errors.length === 0 ? { ok: true, value: trimmed } : { ok: false, errors: errors.slice(0, MOST_ERRORS) }
  }
}

/** Whether a value is nested more deeply than allowed. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return false
  return levels < 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1))
}

interface Findings {
  readonly faults: FieldError[]
  readonly unknown: FieldError[]
  tooDeep: boolean
}

/**
 * Trims strings and drops read-only fields. Reports what PostgreSQL cannot store (NUL, unpaired surrogates), unsafe
 * integers, excessive nesting and unknown fields. Items of a `Judged` list are only checked for their nesting.
 */
function trim(
  value: unknown,
  schema: JsonSchema | undefined,
  resource: JsonSchema | undefined,
  at: string,
  found: Findings,
  level: number,
): unknown {
  const { faults, unknown } = found
  if (schema?.['x-judged']) {
    if (!isTooDeep(value, MOST_LEVELS - level)) return value
    faults.push({ path: at, ...TOO_DEEP })
    found.tooDeep = true
    return value
  }
  if (typeof value === 'string') {
    if (value.includes('\0')) faults.push({ path: at, code: 'nul', message: 'must not contain the NUL character' })
    if (!value.isWellFormed()) faults.push({ path: at, code: 'ill_formed', message: HALF_A_PAIR })
    return schema?.['x-verbatim'] ? value : value.trim()
  }
  if (typeof value === 'number') {
    const isWhole = branch(schema, 'integer')?.type === 'integer' && Number.isInteger(value)
    if (isWhole && !Number.isSafeInteger(value)) faults.push({ path: at, code: 'unsafe_integer', message: UNSAFE })
    return value
  }
  if (value === null || typeof value !== 'object') return value
  if (level > MOST_LEVELS) {
    faults.push({ path: at, ...TOO_DEEP })
    found.tooDeep = true
    return value
  }
  if (Array.isArray(value)) {
    const items = branch(schema, 'array')?.items ?? within(schema)
    const shown = branch(resource, 'array')?.items
    return value.map((item, index) => trim(item, items, shown, `${at}/${index}`, found, level + 1))
  }
  const properties = branch(schema, 'object')?.properties
  const known = closedProperties(schema)
  const shown = branch(resource, 'object')?.properties ?? {}
  const result: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    const path = `${at}/${escape(key)}`
    if (key.includes('\0'))
      faults.push({ path: at, code: 'nul', message: 'must not have a field whose name contains the NUL character' })
    if (!key.isWellFormed()) faults.push({ path: at, code: 'ill_formed', message: HALF_A_PAIR })
    if (known && !Object.hasOwn(known, key)) {
      if (Object.hasOwn(shown, key)) continue
      if (unknown.length < MOST_ERRORS)
        unknown.push({ path, code: 'unknown_field', message: unknownField(key, Object.keys(known)) })
      continue
    }
    const inner = trim(item, own(properties, key) ?? within(schema), own(shown, key), path, found, level + 1)
    // Defined as an own property even for `__proto__`, which a map may contain, so that it never sets the prototype.
    if (key === '__proto__') Object.defineProperty(result, key, { value: inner, enumerable: true })
    else result[key] = inner
  }
  return result
}

const UNSAFE = `must be a whole number between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}`

const VERBATIM: JsonSchema = { 'x-verbatim': true }

/** The schema of what is in a value without further description: texts in free-form JSON are verbatim too. */
function within(schema: JsonSchema | undefined): JsonSchema | undefined {
  return schema?.['x-verbatim'] ? VERBATIM : undefined
}

function own(properties: JsonSchema['properties'], key: string): JsonSchema | undefined {
  return properties && Object.hasOwn(properties, key) ? properties[key] : undefined
}

/** The fields of an object that allows no others; undefined if it allows others, or if it is a union. */
function closedProperties(schema: JsonSchema | undefined): JsonSchema['properties'] {
  if ((schema?.anyOf ?? []).filter((option) => option.type === 'object').length > 1) return undefined
  const object = branch(schema, 'object')
  return object?.additionalProperties === false ? (object.properties ?? {}) : undefined
}

function branch(schema: JsonSchema | undefined, type: string): JsonSchema | undefined {
  if (schema?.type === type || !schema?.anyOf) return schema
  return schema.anyOf.find((option) => option.type === type)
}

function escape(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

interface SchemaError {
  readonly keyword: string
  readonly instancePath: string
  readonly schemaPath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message: string
}

function explain(found: readonly object[], value: unknown, schema: JsonSchema, at: string): FieldError[] {
  const errors: FieldError[] = []
  const add = (path: string, code: string, message: string) => {
    if (!errors.some((error) => error.path === path)) errors.push({ path, code, message })
  }
  // Errors of a union's members only matter if the union itself fails. They are reported once, for the union.
  const unions = (found as SchemaError[])
    .filter((error) => error.keyword === 'anyOf')
    .map((error) => error.instancePath)
  for (const error of found as SchemaError[]) {
    const path = at + error.instancePath
    const inUnion = /\/anyOf\/\d+/.test(error.schemaPath)
    // An error inside an array or object is more specific than the mismatch of the union.
    const saysMore = (one: SchemaError) => isBelow(one, error) || isMissing(one, error, schema)
    if (error.keyword === 'anyOf' && (found as SchemaError[]).some(saysMore)) continue
    const limit = error.keyword === 'anyOf' ? limitIn(found as SchemaError[], error, schema) : undefined
    if (limit !== undefined) {
      add(path, limit.error.keyword, sentence(limit.error, limit.option, read(value, error.instancePath)))
      continue
    }
    const isOption = inUnion && unions.includes(error.instancePath) && !isMissing(error, error, schema)
    if (error.keyword === 'boolean' || isOption) continue
    if (error.keyword === 'required') {
      for (const name of error.params['requiredProperties'] as string[])
        add(`${path}/${escape(name)}`, 'required', 'is required')
    } else if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
      const known = Object.keys(branch(locate(schema, error.instancePath), 'object')?.properties ?? {})
      for (const name of error.params['additionalProperties'] as string[]) {
        add(`${path}/${escape(name)}`, 'unknown_field', unknownField(name, known))
      }
    } else {
      add(path, error.keyword, sentence(error, locate(schema, error.instancePath), read(value, error.instancePath)))
    }
  }
  if (errors.length === 0) add(at, 'invalid', 'is not valid')
  return errors.slice(0, MOST_ERRORS)
}

function isBelow({ instancePath, keyword }: SchemaError, above: SchemaError): boolean {
  return keyword !== 'boolean' && instancePath.startsWith(`${above.instancePath}/`)
}

/**
 * Whether the error is a missing field of an object, and the union allows only one kind of object (for example object
 * or null).
 */
function isMissing({ instancePath, keyword }: SchemaError, union: SchemaError, schema: JsonSchema): boolean {
  if (keyword !== 'required' || instancePath !== union.instancePath) return false
  return locate(schema, instancePath)?.anyOf?.filter(({ type }) => type === 'object').length === 1
}

const LIMITS = new Set([
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'pattern',
  'uniqueItems',
])

/**
 * The limit that a value violates although its type is allowed, for example the length of a text where a text or null
 * is allowed.
 */
function limitIn(
  found: readonly SchemaError[],
  { instancePath }: SchemaError,
  schema: JsonSchema,
): { readonly error: SchemaError; readonly option: JsonSchema } | undefined {
  const union = locate(schema, instancePath)
  for (const error of found) {
    const index = /\/anyOf\/(\d+)(\/\w+)?$/.exec(error.schemaPath)?.[1]
    const option = union?.anyOf?.[Number(index)]
    if (error.instancePath !== instancePath || !LIMITS.has(error.keyword) || option === undefined) continue
    // `alternatives` names the format.
    if (option.format !== undefined) return undefined
    return { error, option: { ...option, description: option.description ?? union?.description } as JsonSchema }
  }
  return undefined
}

function sentence(error: SchemaError, schema: JsonSchema | undefined, value: unknown): string {
  const { params } = error
  const many = (count: unknown, one: string) => `${String(count)} ${one}${count === 1 ? '' : 's'}`
  switch (error.keyword) {
    case 'type':
      return `must be ${article(String(params['type']))}, not ${article(typeName(value))}`
    case 'enum':
      return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${many(params['limit'], 'character')}`
    case 'maxLength':
      return `must have at most ${many(params['limit'], 'character')}`
    case 'minItems':
      return `must have at least ${many(params['limit'], 'item')}`
    case 'maxItems':
      return `must have at most ${many(params['limit'], 'item')}`
    case 'minProperties':
      return `must have at least ${many(params['limit'], 'field')}`
    case 'minimum':
      return `must be at least ${String(params['limit'])}`
    case 'maximum':
      return `must be at most ${String(params['limit'])}`
    case 'uniqueItems':
      return 'must not contain the same item twice'
    case 'format':
      return `must be ${FORMATS[String(params['format'])] ?? `a valid ${String(params['format'])}`}`
    case 'pattern':
      if (schema?.format === 'uuid') return 'must be a UUID in lowercase'
      return schema?.description ? `must be: ${schema.description}` : 'does not have the documented format'
    case 'anyOf':
      return `must be ${alternatives(schema)}`
    default:
      return error.message
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'an ISO 8601 date and time with an offset, such as 2026-11-21T18:00:00Z',
  'bcp-47': 'a language tag (BCP 47), such as en or pt-BR',
  date: 'a date such as 2026-11-21',
  email: 'an email address',
  'iana-time-zone': 'a time zone of the IANA database, such as Europe/Berlin',
  uri: 'an absolute URL',
  uuid: 'a UUID',
}

function alternatives(schema: JsonSchema | undefined): string {
  const names = (schema?.anyOf ?? []).map((option) =>
    option.enum
      ? `one of ${option.enum.join(', ')}`
      : (FORMATS[option.format ?? ''] ?? article(option.type ?? 'value')),
  )
  return names.join(' or ') || 'of one of the documented forms'
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function article(type: string): string {
  if (type === 'null') return 'null'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function locate(schema: JsonSchema, pointer: string): JsonSchema | undefined {
  let here: JsonSchema | undefined = schema
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    const object: JsonSchema | undefined = branch(here, 'object')
    const extra = object?.additionalProperties
    here =
      object?.properties?.[key] ??
      (/^\d+$/.test(key) ? branch(here, 'array')?.items : undefined) ??
      (typeof extra === 'object' ? extra : Object.values(object?.patternProperties ?? {})[0])
  }
  return here
}

function read(value: unknown, pointer: string): unknown {
  let here = value
  for (const part of pointer.split('/').slice(1)) {
    here = (here as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return here
}
