/** Values at the limits of a schema and beyond them, as input for the generated tests. */

interface Schema {
  readonly type?: string
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

const DATES = [
  '0000-01-01T00:00:00Z',
  '0000-12-31T23:59:59-23:59',
  '0001-01-01T00:00:00+23:59',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-23:59',
  '9999-12-31T23:59:59+23:59',
  '2026-02-30T00:00:00Z',
  '2026-11-21T23:59:60Z',
]

const ODD_TEXT = [
  '',
  '\0',
  '\ud800',
  '\u202e\u0301\uffff',
  '😀👨‍👩‍👧‍👦',
  '%00%',
  "'; --\\",
  '*:& | !(',
  '${1}\u2028',
  '__proto__',
]

const ODD_NUMBERS = [0, -1, 0.5, 2 ** 31 - 1, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 2 ** 63, 1e308, -1e308]

/** All harmless odd texts in one. Where a schema accepts it, each of them need not be sent by itself. */
const ODD_MIXTURE = ODD_TEXT.filter((text) => text !== '\0' && text.isWellFormed()).join(' ')
const MIXED = new Set(ODD_TEXT.filter((text) => text !== '' && text !== '__proto__' && ODD_MIXTURE.includes(text)))

/** Values at and beyond the limits of a schema; it rejects most of them. */
export function extremes(schema: Schema, depth = 0): unknown[] {
  if (schema.anyOf) return [null, ...schema.anyOf.flatMap((option) => extremes(option, depth))]
  if (schema.enum) return [schema.enum[0], schema.enum.at(-1), '']
  if (schema.const !== undefined) return [schema.const, null]
  switch (schema.type) {
    case 'string':
      return schema.format === 'date-time' ? DATES : texts(schema)
    case 'integer':
    case 'number':
      return [schema.minimum, schema.maximum, ...ODD_NUMBERS].filter((value) => value !== undefined)
    case 'boolean':
      return [true, false]
    case 'array':
      return lists(schema, depth)
    case 'object':
      return objects(schema, depth)
    default:
      return [null, {}, nested(50)]
  }
}

function texts({ maxLength = 10_000, minLength = 0, pattern }: Schema): string[] {
  const lengths = [minLength, maxLength, maxLength + 1]
  const long = lengths.flatMap((length) => ['x'.repeat(length), '😀'.repeat(length), '\u0001'.repeat(length)])
  const ids = pattern?.includes('[0-9a-f]{8}-') ? ['ffffffff-ffff-ffff-ffff-ffffffffffff'] : []
  return [...ids, ODD_MIXTURE, ...ODD_TEXT, ...long]
}

function lists({ items = {}, maxItems = 1_000, minItems = 0 }: Schema, depth: number): unknown[] {
  if (depth > 2) return [[]]
  const values = extremes(items, depth + 1)
  const fill = (length: number, value: unknown) => Array.from({ length }, () => value)
  return [
    [],
    fill(minItems, values[0]),
    fill(maxItems, values[0]),
    fill(maxItems + 1, null),
    ...values.map((value) => [value]),
  ]
}

function objects({ properties = {} }: Schema, depth: number): unknown[] {
  if (depth > 2) return [{}]
  const single = Object.entries(properties).flatMap(([name, schema]) =>
    extremes(schema, depth + 1).map((value) => ({ [name]: value })),
  )
  return [{}, ...single]
}

/** A list nested this many levels deep. */
export function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

/** How many variants of a schema are mostly rejected. They end in the validation, which all operations share. */
const REJECTED = 8

/**
 * Variants of `base` with one property set to a value that its schema accepts, which reach the handler, and a few
 * variants with all properties set to rejected values.
 * @param accepts whether a value passes its schema
 * @param ordinal the number of the operation; each operation gets other rejected values
 */
export function variants(
  schema: Schema | undefined,
  base: Readonly<Record<string, unknown>>,
  accepts: (schema: Schema, value: unknown) => boolean,
  ordinal: number,
): Record<string, unknown>[] {
  const edges = Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const values = extremes(property)
    const accepted = values.filter((value) => accepts(property, value))
    const isMixed = accepted.includes(ODD_MIXTURE)
    return { name, good: accepted.filter((value) => !(isMixed && MIXED.has(value as string))), values }
  })
  const single = edges.flatMap(({ good, name }) => good.map((value) => ({ ...base, [name]: value })))
  const most = Math.max(0, ...edges.map(({ values }) => values.length))
  const together = Array.from({ length: Math.min(most, REJECTED) }, (_, index) => ({
    ...base,
    ...Object.fromEntries(
      edges.map(({ name, values }) => [name, values[(ordinal * REJECTED + index) % values.length]]),
    ),
  }))
  return [...single, ...together]
}
