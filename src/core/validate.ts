import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import type { TSchema } from 'typebox'
import { MAX_FIELD_ERRORS, type FieldError } from './error.ts'
import { memoize } from '../tools/memoize.ts'
import { branch, closedProperties, only, own, within } from './schema-members.ts'
import { unknownField } from './unknown-field.ts'
import { sentence, type JsonSchema, type SchemaError } from './validation-sentences.ts'

/**
 * Validates one part of a request. Strings are trimmed, query text becomes numbers and booleans, and every invalid
 * field is reported with its JSON pointer and what it must be.
 */

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: FieldError[] }

export type Validator = (value: unknown) => Validated

/** The maximum nesting depth of any input. Deeper input would exhaust the call stack of code that walks it. */
const MAX_LEVELS = 64

const TOO_DEEP = { code: 'too_deep', message: `must not be nested deeper than ${MAX_LEVELS} levels` }
const HALF_A_PAIR = 'must be well-formed Unicode: it has an unpaired surrogate'

// The library stops at 8 by default, and errors of the members of a union count too.
Settings.Set({ maxErrors: 5 * MAX_FIELD_ERRORS })

const compile = memoize((schema: TSchema) => Compile(schema))

/**
 * Makes a validator. Its schema is compiled when it is first used, because a process uses few of all operations at once.
 *
 * The work is bounded by the schema, not by the size of the value: what is longer than `maxItems`, `maxProperties` or
 * `maxLength` allows, or is a list or an object in place of something else, is reported without looking into it, and
 * the search ends at 20 errors.
 * @param at where the value is: `/body`, `/query` or `/path`
 * @param resource the edited resource, as replies show it. Its fields that `schema` does not have are read-only. They
 * are dropped, so that a client can send back what it received.
 */
export function validator(schema: TSchema, at: string, resource?: TSchema): Validator {
  let compiled: ReturnType<typeof compile> | undefined
  return (value) => {
    const found: Findings = { faults: [], unknown: [], tooDeep: false }
    const trimmed = trim(value, schema, resource, at, found, 0)
    const { faults, tooDeep, unknown } = found
    if (faults.length >= MAX_FIELD_ERRORS) return { ok: false, errors: faults.slice(0, MAX_FIELD_ERRORS) }
    compiled ??= compile(schema)
    const invalid = tooDeep || compiled.Check(trimmed) ? [] : explain(compiled.Errors(trimmed), trimmed, schema, at)
    // Unknown fields come last. There can be many, and they must not hide missing ones.
    const errors = [...faults, ...invalid.filter((error) => !isFollowUp(error, faults)), ...unknown]
    return errors.length === 0 ? { ok: true, value: trimmed } : { ok: false, errors: errors.slice(0, MAX_FIELD_ERRORS) }
  }
}

/** Whether a fault explains an error: it is at the same place, or in a value that fits no member of a union. */
function isFollowUp({ code, path }: FieldError, faults: readonly FieldError[]): boolean {
  return faults.some((fault) => fault.path === path || (code === 'anyOf' && fault.path.startsWith(`${path}/`)))
}

/** Whether a value is nested more deeply than allowed. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return false
  return levels < 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1))
}

interface Findings {
  readonly faults: FieldError[]
  readonly unknown: FieldError[]
  tooDeep: boolean
}

/**
 * Trims strings and drops read-only fields. Reports what is too long, what PostgreSQL cannot store (NUL, unpaired
 * surrogates), unsafe integers, excessive nesting and unknown fields. Items of a `Judged` list are only checked for
 * their nesting.
 */
function trim(
  value: unknown,
  schema: JsonSchema | undefined,
  resource: JsonSchema | undefined,
  at: string,
  found: Findings,
  level: number,
): unknown {
  const { faults } = found
  if (faults.length >= MAX_FIELD_ERRORS) return value
  if (schema?.['x-judged']) {
    if (!isTooDeep(value, MAX_LEVELS - level)) return value
    faults.push({ path: at, ...TOO_DEEP })
    found.tooDeep = true
    return value
  }
  if (typeof value === 'string') {
    const text = schema?.['x-verbatim'] ? value : value.trim()
    const most = only(schema, 'string')?.maxLength
    if (most !== undefined && isLonger(text, most)) return tooLong('maxLength', most, at, found, '')
    if (value.includes('\0')) faults.push({ path: at, code: 'nul', message: 'must not contain the NUL character' })
    if (!value.isWellFormed()) faults.push({ path: at, code: 'ill_formed', message: HALF_A_PAIR })
    return text
  }
  if (typeof value === 'number') {
    const isWhole = branch(schema, 'integer')?.type === 'integer' && Number.isInteger(value)
    if (isWhole && !Number.isSafeInteger(value)) faults.push({ path: at, code: 'unsafe_integer', message: UNSAFE })
    return value
  }
  if (value === null || typeof value !== 'object') return value
  if (level > MAX_LEVELS) {
    faults.push({ path: at, ...TOO_DEEP })
    found.tooDeep = true
    return value
  }
  const type = Array.isArray(value) ? 'array' : 'object'
  if (schema?.type !== undefined && schema.type !== type) {
    const message = sentence({ keyword: 'type', params: { type: schema.type } }, schema, value)
    faults.push({ path: at, code: 'type', message })
    // Different for each, so that a list of them is not also reported as repetitive.
    return at
  }
  if (!Array.isArray(value)) return trimFields(value as Record<string, unknown>, schema, resource, at, found, level)
  const most = only(schema, 'array')?.maxItems
  if (most !== undefined && value.length > most) return tooLong('maxItems', most, at, found, [])
  const items = branch(schema, 'array')?.items ?? within(schema)
  const shown = branch(resource, 'array')?.items
  const result: unknown[] = []
  for (let index = 0; index < value.length && faults.length < MAX_FIELD_ERRORS; index += 1) {
    result.push(trim(value[index], items, shown, `${at}/${index}`, found, level + 1))
  }
  return result
}

/** Trims the fields of an object. */
function trimFields(
  value: Record<string, unknown>,
  schema: JsonSchema | undefined,
  resource: JsonSchema | undefined,
  at: string,
  found: Findings,
  level: number,
): unknown {
  const { faults, unknown } = found
  const properties = branch(schema, 'object')?.properties
  const known = closedProperties(schema)
  const shown = branch(resource, 'object')?.properties ?? {}
  const keys = known !== undefined && unknown.length >= MAX_FIELD_ERRORS ? [] : Object.keys(value)
  const most = only(schema, 'object')?.maxProperties
  // Of fields with names, read-only ones do not count, and unknown ones are reported up to a bound.
  if (known === undefined && most !== undefined && keys.length > most)
    return tooLong('maxProperties', most, at, found, {})
  const result: Record<string, unknown> = {}
  const read = (key: string) => {
    const path = `${at}/${escape(key)}`
    const inner = trim(value[key], own(properties, key) ?? within(schema), own(shown, key), path, found, level + 1)
    // Defined as an own property even for `__proto__`, which a map may contain, so that it never sets the prototype.
    if (key === '__proto__') Object.defineProperty(result, key, { value: inner, enumerable: true })
    else result[key] = inner
  }
  for (const key of keys) {
    if (key.includes('\0'))
      faults.push({ path: at, code: 'nul', message: 'must not have a field whose name contains the NUL character' })
    if (!key.isWellFormed()) faults.push({ path: at, code: 'ill_formed', message: HALF_A_PAIR })
    if (faults.length >= MAX_FIELD_ERRORS || (known && unknown.length >= MAX_FIELD_ERRORS)) break
    if (!known || Object.hasOwn(known, key)) read(key)
    else if (!Object.hasOwn(shown, key)) {
      const message = unknownField(key, Object.keys(known))
      unknown.push({ path: `${at}/${escape(key)}`, code: 'unknown_field', message })
    }
  }
  // Enough unknown fields are found, so that only known ones matter, however many fields the object has.
  if (known && unknown.length >= MAX_FIELD_ERRORS) {
    for (const key of Object.keys(known)) if (Object.hasOwn(value, key) && !Object.hasOwn(result, key)) read(key)
  }
  return result
}

/** Reports a value that is too long, and what stands for it in the rest of the validation. */
function tooLong<T>(
  keyword: 'maxItems' | 'maxLength' | 'maxProperties',
  limit: number,
  path: string,
  found: Findings,
  stand: T,
): T {
  found.faults.push({ path, code: keyword, message: sentence({ keyword, params: { limit } }, undefined, undefined) })
  return stand
}

/** Whether a text has more than `most` characters (code points), as the library counts them. */
function isLonger(text: string, most: number): boolean {
  if (text.length <= most) return false
  if (text.length > 2 * most) return true
  let count = 0
  for (const _ of text) count += 1
  return count > most
}

const UNSAFE = `must be a whole number between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}`

function escape(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

function explain(found: readonly object[], value: unknown, schema: JsonSchema, at: string): FieldError[] {
  const errors = new Map<string, FieldError>()
  const add = (path: string, code: string, message: () => string) => {
    if (errors.size < MAX_FIELD_ERRORS && !errors.has(path)) errors.set(path, { path, code, message: message() })
  }
  // Errors of a union's members only matter if the union itself fails. They are reported once, for the union.
  const unions = (found as SchemaError[])
    .filter((error) => error.keyword === 'anyOf')
    .map((error) => error.instancePath)
  for (const error of found as SchemaError[]) {
    if (errors.size >= MAX_FIELD_ERRORS) break
    const path = at + error.instancePath
    const inUnion = /\/anyOf\/\d+/.test(error.schemaPath)
    // An error inside an array or object is more specific than the mismatch of the union.
    const saysMore = (one: SchemaError) => isBelow(one, error) || isMissing(one, error, schema)
    if (error.keyword === 'anyOf' && (found as SchemaError[]).some(saysMore)) continue
    const limit = error.keyword === 'anyOf' ? limitIn(found as SchemaError[], error, schema) : undefined
    if (limit !== undefined) {
      add(path, limit.error.keyword, () => sentence(limit.error, limit.option, read(value, error.instancePath)))
      continue
    }
    const isOption = inUnion && unions.includes(error.instancePath) && !isMissing(error, error, schema)
    if (error.keyword === 'boolean' || isOption) continue
    if (error.keyword === 'required') {
      for (const name of error.params['requiredProperties'] as string[])
        add(`${path}/${escape(name)}`, 'required', () => 'is required')
    } else if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
      const known = Object.keys(branch(locate(schema, error.instancePath), 'object')?.properties ?? {})
      for (const name of error.params['additionalProperties'] as string[]) {
        add(`${path}/${escape(name)}`, 'unknown_field', () => unknownField(name, known))
      }
    } else {
      const { instancePath, keyword } = error
      add(path, keyword, () => sentence(error, locate(schema, instancePath), read(value, instancePath)))
    }
  }
  if (errors.size === 0) add(at, 'invalid', () => 'is not valid')
  return [...errors.values()]
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
    if (error.instancePath !== instancePath || option === undefined) continue
    const explains = option.format === 'iana-time-zone' && error.keyword === 'format'
    if (!explains && !LIMITS.has(error.keyword)) continue
    // `alternatives` names any other format.
    if (option.format !== undefined && !explains) return undefined
    return { error, option: { ...option, description: option.description ?? union?.description } as JsonSchema }
  }
  return undefined
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
