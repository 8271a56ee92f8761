import { nameOf, type TSchema } from '../../../src/core/schema.ts'

/** The parts of JSON Schema that the API's declarations use. */
interface Schema {
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly TSchema[]
  readonly type?: string
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly patternProperties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly 'x-judged'?: TSchema
}

const PLAIN: Readonly<Record<string, string>> = {
  boolean: 'boolean',
  integer: 'number',
  null: 'null',
  number: 'number',
  string: 'string',
}

/** Writes schemas as TypeScript types. Schemas with a name become declarations, which the types refer to. */
export class TypeWriter {
  readonly #named = new Map<string, string>()
  readonly #instead = new Map<TSchema, readonly TSchema[]>()

  /** The type of the values of a schema. @throws when the schema uses something that has no type here */
  typeOf(schema: TSchema): string {
    const name = nameOf(schema)
    if (name === undefined) return this.#written(schema)
    const members = this.#instead.get(schema)
    const type = members === undefined ? this.#written(schema) : union(members.map((member) => this.typeOf(member)))
    const known = this.#named.get(name)
    if (known !== undefined && known !== type) throw new Error(`two schemas are named ${name}`)
    this.#named.set(name, type)
    return name
  }

  /** The type of a query, in which a list of values may be given as a single value. */
  queryTypeOf(schema: TSchema): string {
    return this.#object(schema, (field) => {
      const { items, type } = field as Schema
      if (type !== 'array' || items === undefined) return this.typeOf(field)
      const item = this.typeOf(items)
      return `${item} | ReadonlyArray<${item}>`
    })
  }

  /** Writes a named schema as a union of others, if its declared type is narrower than the schema. */
  narrow(schema: TSchema, members: readonly TSchema[]): void {
    this.#instead.set(schema, members)
  }

  /** The named types so far, as a module. */
  declarations(): string {
    const sorted = [...this.#named].sort(([a], [b]) => (a < b ? -1 : 1))
    return sorted.map(([name, type]) => `export type ${name} = ${type}\n`).join('\n')
  }

  /** The names that a module needs to import to use this text. */
  namesIn(text: string): string[] {
    const words = new Set(text.match(/\b[A-Z]\w*\b/g))
    return [...this.#named.keys()].filter((name) => words.has(name)).sort((a, b) => (a < b ? -1 : 1))
  }

  #written(given: TSchema): string {
    const schema = given as Schema
    const judged = schema['x-judged']
    if (judged !== undefined) return this.typeOf(judged)
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)))
    if (schema.anyOf !== undefined) return union(schema.anyOf.map((member) => this.typeOf(member)))
    if (schema.type === 'array') return schema.items === undefined ? 'unknown[]' : `Array<${this.typeOf(schema.items)}>`
    if (schema.type === 'object') return this.#object(schema)
    if (schema.type === undefined && isAnything(schema)) return 'unknown'
    const plain = PLAIN[schema.type ?? '']
    if (plain === undefined) throw new Error(`no type for the schema ${JSON.stringify(schema).slice(0, 200)}`)
    return plain
  }

  #object(
    { patternProperties, properties = {}, required = [] }: Schema,
    typeOf = (field: TSchema) => this.typeOf(field),
  ): string {
    const values = Object.values(patternProperties ?? {})
    if (values.length > 0) return `Record<string, ${union(values.map((value) => this.typeOf(value)))}>`
    const fields = Object.entries(properties).map(([name, field]) => {
      const { description } = field as Schema
      const comment = description === undefined ? '' : `  /** ${description.replaceAll('*/', '*\\/')} */\n`
      return `${comment}  ${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${indented(typeOf(field))}\n`
    })
    return fields.length === 0 ? '{}' : `{\n${fields.join('')}}`
  }
}

/** Whether the schema accepts any value: it has only a description. */
function isAnything(schema: Schema): boolean {
  return Object.keys(schema).every((key) => key === 'description')
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

/** Indents all lines of a type except the first. */
export function indented(text: string): string {
  return text.replaceAll('\n', '\n  ')
}
