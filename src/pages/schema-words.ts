import { nameOf, type TSchema } from '../core/schema.ts'

/** The part of JSON Schema that our schemas use. */
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

/** Rows of name, type and meaning for the fields of an object. Markdown with code only. */
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

/** Empty where the schema does not say: a field of an object with a name of its own. */
function meaningOf(schema: Schema): string {
  return schema.description ?? (schema.anyOf ?? []).find(({ description }) => description)?.description ?? ''
}
