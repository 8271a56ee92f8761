import type { JsonSchema } from './validation-sentences.ts'

const VERBATIM: JsonSchema = { 'x-verbatim': true }

/** The schema of what is in a value without further description: texts in free-form JSON are verbatim too. */
export function within(schema: JsonSchema | undefined): JsonSchema | undefined {
  return schema?.['x-verbatim'] ? VERBATIM : undefined
}

/** The schema of a field, if it has one. */
export function own(properties: JsonSchema['properties'], key: string): JsonSchema | undefined {
  return properties && Object.hasOwn(properties, key) ? properties[key] : undefined
}

/** The fields of an object that allows no others; undefined if it allows others, or if it is a union. */
export function closedProperties(schema: JsonSchema | undefined): JsonSchema['properties'] {
  if ((schema?.anyOf ?? []).filter((option) => option.type === 'object').length > 1) return undefined
  const object = branch(schema, 'object')
  return object?.additionalProperties === false ? (object.properties ?? {}) : undefined
}

/** The schema, or the member of a union, that describes values of a type. */
export function branch(schema: JsonSchema | undefined, type: string): JsonSchema | undefined {
  if (schema?.type === type || !schema?.anyOf) return schema
  return schema.anyOf.find((option) => option.type === type)
}

/** What a value of a type is checked against; undefined if several members of a union or none allow the type. */
export function only(schema: JsonSchema | undefined, type: string): JsonSchema | undefined {
  if (schema?.anyOf === undefined) return schema?.type === type ? schema : undefined
  const members = schema.anyOf.filter((member) => member.type === type || member.type === undefined)
  return members.length === 1 && members[0]?.type === type ? members[0] : undefined
}
