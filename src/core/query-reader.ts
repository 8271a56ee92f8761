import type { TSchema } from 'typebox'
import type { FieldError } from './error.ts'

interface ParameterSchema {
  readonly type?: string
  readonly items?: ParameterSchema
  readonly 'x-commas'?: 'encoded'
}

/** The values of a query string, and which parameters were repeated although they take one value. */
export interface QueryValues {
  readonly values: Record<string, unknown>
  readonly errors: FieldError[]
}

/**
 * Parses a query string by the types of its schema: numbers and booleans from their text, arrays from repeated
 * parameters or commas. Values that cannot be parsed stay text, so that validation reports them.
 * @param at where errors are: `/query`, or `/body` for the fields of a multipart body
 */
export function queryReader(schema: TSchema, at: string): (text: string) => QueryValues {
  const properties = (schema as { properties?: Readonly<Record<string, ParameterSchema>> }).properties ?? {}
  return (text) => {
    const values: Record<string, unknown> = {}
    if (text === '') return { values, errors: [] }
    const repeated = new Set<string>()
    const encoded = new EncodedValues(text)
    for (const [index, [key, raw]] of [...new URLSearchParams(text)].entries()) {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined
      if (property?.type === 'array') {
        const parts = property['x-commas'] === 'encoded' ? encoded.parts(index) : raw.split(',')
        const list = (values[key] ??= []) as unknown[]
        for (const part of parts) list.push(scalar(part, property.items))
        continue
      }
      // An unknown parameter is reported as unknown.
      if (property !== undefined && Object.hasOwn(values, key)) repeated.add(key)
      Object.defineProperty(values, key, {
        value: scalar(raw, property),
        enumerable: true,
        writable: true,
        configurable: true,
      })
    }
    const errors = [...repeated].map((key) => ({ path: `${at}/${key}`, code: 'repeated', message: REPEATED }))
    return { values, errors }
  }
}

const REPEATED = 'must not be repeated: it takes one value'

/** The values of parameters before they are decoded. Encoded commas are part of a value, and do not separate two. */
class EncodedValues {
  readonly #text: string
  #pairs: readonly string[] | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** The decoded values of the parameter at this position. */
  parts(index: number): string[] {
    this.#pairs ??= this.#text.split('&').filter((pair) => pair !== '')
    const [, ...value] = (this.#pairs[index] ?? '').split('=')
    return value
      .join('=')
      .split(',')
      .map((part) => new URLSearchParams(`_=${part}`).get('_') ?? '')
  }
}

function scalar(raw: string, schema: ParameterSchema | undefined): unknown {
  const text = raw.trim()
  if ((schema?.type === 'integer' || schema?.type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (schema?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return raw
}

/**
 * Errors of items of a list, as errors of the parameter: a query has no positions that a client could point to. With
 * several values, the message says which one is meant.
 */
export function errorsOfParameters(errors: readonly FieldError[], values: Readonly<Record<string, unknown>>) {
  return errors.map((error): FieldError => {
    const [, path, name = '', index] = /^(\/query\/([^/]+))\/(\d+)$/.exec(error.path) ?? []
    if (path === undefined) return error
    const list = values[name]
    const which = Array.isArray(list) && list.length > 1 ? ` (value ${Number(index) + 1})` : ''
    return { ...error, path, message: `${error.message}${which}` }
  })
}
