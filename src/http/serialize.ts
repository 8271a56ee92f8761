import fastJson from 'fast-json-stringify'
import type { TSchema } from 'typebox'
import { memoize } from '../tools/memoize.ts'
import type { NamedOperation } from '../core/operation.ts'

export type Serializer = (body: unknown) => string

/** The content type of a reply that the contract gives as text; undefined for JSON or no body. */
export function rawContentType(returns: unknown): string | undefined {
  return returns !== null && typeof returns === 'object' && 'contentType' in returns
    ? String(returns.contentType)
    : undefined
}

/**
 * One serializer per reply of an operation. Fields that the schema does not have are never sent. Each serializer is
 * compiled when it is first used, because compiling all of them takes a quarter of the startup time.
 */
export function serializers(op: NamedOperation): ReadonlyMap<number, Serializer> {
  const made = new Map<number, Serializer>()
  for (const [status, schema] of Object.entries(op.returns as Record<string, unknown>)) {
    if (schema === null || rawContentType(schema) !== undefined) continue
    let compiled: Serializer | undefined
    made.set(Number(status), (body) => (compiled ??= compileSerializer(schema as TSchema))(body))
  }
  return made
}

/** Compiles a serializer from a schema, once. */
export const compileSerializer = memoize((schema: TSchema): Serializer => {
  // A schema with a union is also compiled by Ajv, which does not know the format of the serializer.
  return fastJson(plain(schema) as Parameters<typeof fastJson>[0], { ajv: { formats: { unsafe: true } } })
})

/** Formats of values that we create ourselves without characters that JSON must escape: ids and times. */
const MADE_HERE = new Set(['uuid', 'date-time'])

/** Keywords that only describe, if their value is text. Under `properties` the same words are field names. */
const DESCRIBING = new Set(['format', 'pattern', 'description'])

/**
 * The schema in the form that the serializer needs. Descriptions are left out. Strings that never need escaping are not
 * searched (checking every id and time costs an eighth of writing a list). "This or null" is written so that no value
 * has to be validated to choose the variant.
 */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain)
  if (schema === null || typeof schema !== 'object') return schema
  const other = nullableOf(schema)
  if (other !== undefined) return { ...(plain(other) as object), nullable: true }
  const copy: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (!DESCRIBING.has(key) || typeof value !== 'string') copy[key] = plain(value)
    else if (key === 'format' && MADE_HERE.has(value)) copy[key] = 'unsafe'
  }
  return copy
}

function nullableOf(schema: object): object | undefined {
  const options = (schema as { anyOf?: readonly { readonly type?: string }[] }).anyOf
  if (!Array.isArray(options) || options.length !== 2) return undefined
  const [first, second] = options as [{ type?: string }, { type?: string }]
  if (second.type === 'null' && first.type !== undefined) return first
  return first.type === 'null' && second.type !== undefined ? second : undefined
}
