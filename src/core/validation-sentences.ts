import { timeZoneFault } from './time-zone.ts'

/** The keywords that the schemas of requests use. */
export interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly maxItems?: number
  readonly maxLength?: number
  readonly maxProperties?: number
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly description?: string
  readonly format?: string
  readonly 'x-verbatim'?: boolean
  readonly 'x-judged'?: object
}

/** An error as the library reports it. */
export interface SchemaError {
  readonly keyword: string
  readonly instancePath: string
  readonly schemaPath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message: string
}

/** What a value must be, for one error of the library. `schema` is what the value was checked against. */
export function sentence(
  error: Pick<SchemaError, 'keyword' | 'params'> & Partial<SchemaError>,
  schema: JsonSchema | undefined,
  value: unknown,
): string {
  const { params } = error
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
    case 'maxProperties':
      return `must have at most ${many(params['limit'], 'field')}`
    case 'minProperties':
      return `must have at least ${many(params['limit'], 'field')}`
    case 'minimum':
      return `must be at least ${String(params['limit'])}`
    case 'maximum':
      return `must be at most ${String(params['limit'])}`
    case 'uniqueItems':
      return 'must not contain the same item twice'
    case 'format':
      if (params['format'] === TIME_ZONE && typeof value === 'string' && value !== '') {
        return `must be ${FORMATS[TIME_ZONE]}: ${timeZoneFault(value)}`
      }
      return `must be ${FORMATS[String(params['format'])] ?? `a valid ${String(params['format'])}`}`
    case 'pattern':
      if (schema?.format === 'uuid') return 'must be a UUID in lowercase'
      return schema?.description ? `must be: ${schema.description}` : 'does not have the documented format'
    case 'anyOf':
      return `must be ${alternatives(schema)}`
    default:
      return error.message ?? 'is not valid'
  }
}

const TIME_ZONE = 'iana-time-zone'

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'an ISO 8601 date and time with an offset, such as 2026-11-21T18:00:00Z',
  'bcp-47': 'a language tag (BCP 47), such as en or pt-BR',
  date: 'a date such as 2026-11-21',
  email: 'an email address',
  [TIME_ZONE]: 'the name of an area in the IANA time zone database, or UTC',
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

function many(count: unknown, one: string): string {
  return `${String(count)} ${one}${count === 1 ? '' : 's'}`
}
