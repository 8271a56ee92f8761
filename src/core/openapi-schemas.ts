import type { TSchema } from 'typebox'
import { nameOf } from './schema.ts'

export type Json = { readonly [key: string]: unknown }

/**
 * Converts schemas to those of an OpenAPI document. A schema with a name (`named`) is listed once under
 * `components.schemas` and referred to from everywhere else.
 */
export class ComponentSchemas {
  readonly #components = new Map<string, Json>()
  readonly #names = new Map<string, string>()
  readonly #sources = new Map<string, string>()

  /**
   * Collects the names inside a schema. Call it with every schema before writing the first one: wrapping a schema (as
   * an optional field, for example) copies it, and the copy is recognized by its content only.
   * @throws Error when two different schemas have the same name
   */
  learn(schema: TSchema): void {
    visit(schema, (part) => {
      const name = nameOf(part)
      if (name === undefined) return
      const source = JSON.stringify(part)
      const known = this.#sources.get(name)
      if (known !== undefined && known !== source) throw new Error(`two different schemas are named ${name}`)
      this.#sources.set(name, source)
      this.#names.set(source, name)
    })
  }

  /** The schema in the form of the document. */
  write(schema: TSchema): Json {
    return this.#write(schema as Json)
  }

  /** All referenced schemas by name. */
  components(): Record<string, Json> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => a.localeCompare(b)))
  }

  #write(schema: Json): Json {
    if (isObject(schema['x-judged'])) return this.#write(schema['x-judged'])
    // Described more precisely than it is validated.
    if (isObject(schema['x-shown'])) return { description: schema['description'], ...this.#write(schema['x-shown']) }
    const name = nameOf(schema) ?? this.#names.get(JSON.stringify(schema))
    if (name === undefined) return this.#inner(schema)
    if (!this.#components.has(name)) {
      this.#components.set(name, {})
      this.#components.set(name, this.#inner(schema))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  #inner(schema: Json): Json {
    const result: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(schema)) {
      if (OWN.has(key)) continue
      if (key === 'properties' || key === 'patternProperties') {
        result[key] = Object.fromEntries(
          Object.entries(value as Json).map(([name, part]) => [name, this.#write(notOnlyNull(part as Json))]),
        )
      } else if (Array.isArray(value) && LISTS.has(key)) {
        result[key] = value.map((part) => this.#write(part as Json))
      } else if (SINGLE.has(key) && isObject(value)) {
        result[key] = this.#write(value)
      } else {
        result[key] = value
      }
    }
    return sized(readable(result))
  }
}

/** Our own schema options, which mean nothing to other tools. */
const OWN = new Set(['x-verbatim', 'x-commas'])
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const SINGLE = new Set(['items', 'additionalProperties', 'not'])

/** A field that can only be null, in a form that has a type besides null: generators have no type for null alone. */
function notOnlyNull(schema: Json): Json {
  return schema['type'] === 'null' ? { ...schema, type: ['string', 'null'], enum: [null] } : schema
}

/** Equivalent forms that client generators handle better. */
function readable(schema: Record<string, unknown>): Json {
  const patterns = schema['patternProperties'] as Json | undefined
  if (patterns !== undefined && Object.keys(patterns).join() === '^.*$') {
    const { patternProperties: _, ...rest } = schema
    const values = patterns['^.*$'] as Json
    return { ...rest, additionalProperties: Object.keys(values).length === 0 ? true : values }
  }
  if (
    Array.isArray(schema['enum']) &&
    schema['type'] === undefined &&
    schema['enum'].every((value) => typeof value === 'string')
  ) {
    return { type: 'string', ...schema }
  }
  const [first, second] = (schema['anyOf'] as Json[] | undefined) ?? []
  const isNullable = first !== undefined && second?.['type'] === 'null' && (schema['anyOf'] as Json[]).length === 2
  if (isNullable && typeof first['type'] === 'string' && first['enum'] === undefined && first['const'] === undefined) {
    const { anyOf: _, ...rest } = schema
    return { ...rest, ...first, type: [first['type'], 'null'] }
  }
  return schema
}

/** The largest integer of generators for languages that have types of integers, unless the format says otherwise. */
const LARGEST_INT32 = 2 ** 31 - 1

/** Names the size of integers: lengths in bytes or milliseconds, and sequence numbers, do not fit into 32 bits. */
function sized(schema: Json): Json {
  const isInteger = [schema['type']].flat().includes('integer')
  const { maximum } = schema as { maximum?: number }
  if (!isInteger || schema['format'] !== undefined || (maximum !== undefined && maximum <= LARGEST_INT32)) return schema
  return { ...schema, format: 'int64' }
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function visit(value: unknown, see: (part: object) => void): void {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) see(value)
  for (const part of Object.values(value)) visit(part, see)
}
