import type { TSchema } from 'typebox'

interface ParameterSchema {
  readonly type?: string
  readonly items?: ParameterSchema
}

/**
 * Parses a query string by the types of its schema: numbers and booleans from their text, arrays from repeated
 * parameters or commas. Values that cannot be parsed stay text, so that validation reports them.
 */
export function queryReader(schema: TSchema): (text: string) => Record<string, unknown> {
  const properties = (schema as { properties?: Readonly<Record<string, ParameterSchema>> }).properties ?? {}
  return (text) => {
    const result: Record<string, unknown> = {}
    if (text === '') return result
    for (const [key, raw] of new URLSearchParams(text)) {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined
      if (property?.type === 'array') {
        const items = raw.split(',').map((item) => scalar(item, property.items))
        result[key] = [...((result[key] as unknown[] | undefined) ?? []), ...items]
      } else {
        Object.defineProperty(result, key, {
          value: scalar(raw, property),
          enumerable: true,
          writable: true,
          configurable: true,
        })
      }
    }
    return result
  }
}

function scalar(raw: string, schema: ParameterSchema | undefined): unknown {
  const text = raw.trim()
  if ((schema?.type === 'integer' || schema?.type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (schema?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return raw
}
