import { nameOf, type TSchema } from '../core/schema.ts'

/** The parts of JSON Schema that our schemas use. */
interface Schema {
  readonly type?: string
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly const?: string | number | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly 'x-enumDescriptions'?: Readonly<Record<string, string>>
}

/** Table rows with the name, type and meaning of an object's fields. Markdown with inline code only. */
export function fieldRows(schema: TSchema): string[][] {
  const { properties = {}, required = [] } = schema as Schema
  return Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? '' : ', optional'
    return [`\`${name}\``, typeInWords(field) + optional, meaningOf(field)]
  })
}

function typeInWords(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeInWords).join(' or ')
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.items) return `array of ${typeInWords(schema.items)}`
  return schema.format ?? nameOf(schema) ?? schema.type ?? 'any'
}

/** Empty if the schema does not list fields, for an object with arbitrary keys. */
function meaningOf(schema: Schema): string {
  return schema.description ?? (schema.anyOf ?? []).find(({ description }) => description)?.description ?? ''
}
