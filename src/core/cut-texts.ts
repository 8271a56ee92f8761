import { branch, closedProperties, only, own, within } from './schema-members.ts'
import type { JsonSchema } from './validation-sentences.ts'

/** The length of a UUID. Its schema has a pattern in place of `maxLength`. */
const UUID = 36

/**
 * Replaces texts of a JSON value that the schema refuses in any case, because they are too long or in an unknown field,
 * by shorter ones that it refuses with the same error. Validation of the result is then as fast as that of a small body.
 * Changes the value.
 */
export function cutTexts(value: unknown, schema: JsonSchema | undefined): unknown {
  if (typeof value === 'string') return cut(value, schema)
  if (value === null || typeof value !== 'object' || schema?.['x-judged']) return value
  if (Array.isArray(value)) {
    const items = branch(schema, 'array')?.items ?? within(schema)
    for (let index = 0; index < value.length; index += 1) value[index] = cutTexts(value[index], items)
    return value
  }
  const fields = value as Record<string, unknown>
  const properties = branch(schema, 'object')?.properties
  const known = closedProperties(schema)
  for (const key of Object.keys(fields)) {
    if (key === '__proto__') continue
    const isUnknown = known !== undefined && !Object.hasOwn(known, key)
    fields[key] = isUnknown ? null : cutTexts(fields[key], own(properties, key) ?? within(schema))
  }
  return value
}

function cut(value: string, schema: JsonSchema | undefined): string {
  const text = only(schema, 'string')
  const most = text?.maxLength ?? (text?.format === 'uuid' ? UUID : Infinity)
  // A character has at most two code units. Validation trims, too.
  const shortest = 2 * most + 1
  if (value.length < shortest) return value
  const trimmed = schema?.['x-verbatim'] ? value : value.trim()
  return trimmed.length < shortest ? trimmed : 'z'.repeat(shortest)
}
