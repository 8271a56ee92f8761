/** The heaviest requests that the schemas of an operation allow, generated from the schemas. */

import type { NamedOperation } from '../../../src/core/operation.ts'
import { DEFAULT_BODY_LIMIT } from '../../../src/core/limits.ts'
import type { SendOptions } from '../../support/send.ts'

interface Schema {
  readonly type?: string
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly format?: string
  readonly pattern?: string
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maximum?: number
  readonly uniqueItems?: boolean
  readonly 'x-judged'?: Schema
}

type Fields = Readonly<Record<string, unknown>>

/** A request to try, and what is heavy about it. */
export interface Candidate {
  readonly what: string
  readonly send: SendOptions
}

/** uWS refuses longer request lines and headers. */
const QUERY_ROOM = 3_000
/** The largest file to send, in bytes. */
const FILE_ROOM = 4_000_000
const DEPTH = 5
const TEXT =
  'The quick brown fox jumps over the lazy dog at https://example.com/a?b=c, 12 times. Ünïcödé 😀 #tag @name '

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)

/** The room for a body, in bytes. */
export function bodyRoom(op: NamedOperation): number {
  return (op.bodyLimit ?? DEFAULT_BODY_LIMIT) - 500
}

/** Text of exactly `length` characters. */
export function textOf(length: number): string {
  return TEXT.repeat(Math.ceil(length / TEXT.length))
    .slice(0, length)
    .toWellFormed()
    .replace(/\s$/, 'x')
}

/**
 * The largest value that a schema accepts and that fits into `room` bytes of JSON; undefined when it has to be a
 * particular text, such as an id.
 */
export function largest(schema: Schema, room: number, depth = 0): unknown {
  if (schema['x-judged']) return largest(schema['x-judged'], room, depth)
  if (schema.anyOf) {
    const options = schema.anyOf.map((option) => largest(option, room, depth)).filter((value) => value !== undefined)
    return options.toSorted((a, b) => sizeOf(b) - sizeOf(a))[0]
  }
  if (schema.enum) return schema.enum.at(-1)
  if (schema.const !== undefined) return schema.const
  switch (schema.type) {
    case 'string':
      if (schema.format === 'date-time') return '2031-12-31T23:59:59.999Z'
      if (schema.format !== undefined || schema.pattern !== undefined) return undefined
      return textOf(Math.max(1, Math.min(schema.maxLength ?? room, Math.floor(room / 1.3))))
    case 'integer':
    case 'number':
      return schema.maximum ?? 1_000_000
    case 'boolean':
      return true
    case 'array':
      return largestList(schema, room, depth)
    case 'object':
      return largestObject(schema, room, depth)
    default:
      return undefined
  }
}

function largestList({ items = {}, maxItems = Number.POSITIVE_INFINITY }: Schema, room: number, depth: number) {
  if (depth > DEPTH) return []
  // Shares the room between many items rather than giving it to one.
  const one = largest(items, Math.max(40, room / Math.min(maxItems, 1_000)), depth + 1)
  return one === undefined ? undefined : copies(one, Math.min(maxItems, Math.floor(room / (sizeOf(one) + 1))))
}

function largestObject(schema: Schema, room: number, depth: number): Fields | undefined {
  if (depth > DEPTH) return {}
  const entries = Object.entries(schema.properties ?? {})
  const values = entries.map(([name, inner]) => [name, largest(inner, room / entries.length, depth + 1)] as const)
  const open = Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties
  const value = typeof open === 'object' ? largest(open, 100, depth + 1) : undefined
  const more = value === undefined ? [] : Array.from({ length: 100 }, (_, index) => [`key${index}`, value] as const)
  return Object.fromEntries([...values, ...more].filter(([, one]) => one !== undefined))
}

/** `count` copies. Texts differ at their end, because many lists must not repeat an item. */
function copies(value: unknown, count: number): unknown[] {
  return Array.from({ length: Math.max(0, count) }, (_, index) => {
    const end = String(index)
    return typeof value === 'string' && value.length > end.length ? value.slice(0, -end.length) + end : value
  })
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** Versions of an accepted request, each with one part as large as its schema allows. */
export function accepted(op: NamedOperation, send: SendOptions): Candidate[] {
  const query = queries(op, send).filter(({ what }) => !what.startsWith('unknown'))
  if (!isFields(send.body)) return [{ what: 'as in the example', send }, ...query]
  const { body } = send
  const room = bodyRoom(op) - sizeOf(body)
  return [
    { what: 'as in the example', send },
    ...enlarged(op.body as Schema, body, room).map(({ value, what }) => ({ what, send: { ...send, body: value } })),
    ...query,
  ]
}

/** Versions of a value with one field, at most two levels deep, as large as possible. */
function enlarged(schema: Schema, value: Fields, room: number, level = 0): { what: string; value: Fields }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const set = (what: string, one: unknown) => ({ what, value: { ...value, [name]: one } })
    const now = value[name]
    const most = largest(inner, room)
    const list = inner.type === 'array' ? inner : inner.anyOf?.find(({ type }) => type === 'array')
    const repeated =
      Array.isArray(now) && now.length > 0
        ? copies(now[0], Math.min(list?.maxItems ?? Number.POSITIVE_INFINITY, Math.floor(room / (sizeOf(now[0]) + 1))))
        : undefined
    const deeper = isFields(now) && level < 2 ? enlarged(inner, now, room, level + 1) : []
    return [
      ...(most === undefined || sizeOf(most) <= sizeOf(now) ? [] : [set(`largest ${name}`, most)]),
      ...(repeated === undefined || repeated.length < 2 ? [] : [set(`${repeated.length} × ${name}`, repeated)]),
      ...deeper.map((one) => set(`${one.what} of ${name}`, one.value)),
    ]
  })
}

/** Requests that the schema refuses, each heavy in another way. */
export function refused(op: NamedOperation, send: SendOptions): Candidate[] {
  const query = queries(op, send)
  if (op.upload) return [...files(op, send), ...query]
  if (op.body === undefined) return query
  const room = bodyRoom(op)
  if (op.bodyType !== undefined) return [{ what: 'text', send: { ...send, body: textOf(Math.floor(room / 1.2)) } }]
  const base = isFields(send.body) ? send.body : {}
  const left = room - sizeOf(base)
  const of = (what: string, body: unknown) => ({ what, send: { ...send, body } })
  const schema = op.body as Schema
  return [
    of('unknown fields', { ...base, ...unknownFields(left) }),
    of('nested lists', `${'['.repeat(Math.floor(room / 2))}${']'.repeat(Math.floor(room / 2))}`),
    of('nested objects', { ...base, x: JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`) as unknown }),
    of('largest of all', largest(schema, left)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
      wrong(inner, left).map(({ value, what }) => of(`${what} in ${name}`, { ...base, [name]: value })),
    ),
  ].map((one) => ({ ...one, send: { ...one.send, headers: { ...send.headers, 'Content-Type': 'application/json' } } }))
}

function unknownFields(room: number): Fields {
  return Object.fromEntries(Array.from({ length: Math.floor(room / 10) }, (_, index) => [`f${index}`, 0]))
}

/** Large values that a schema refuses, of the types that it has. */
function wrong(schema: Schema, room: number, level = 0): { what: string; value: unknown }[] {
  const options = schema.anyOf ?? [schema]
  return options.flatMap((option): { what: string; value: unknown }[] => {
    if (option.type === 'string') {
      return [
        { what: 'long text', value: textOf(Math.floor(room / 1.3)) },
        { what: 'repeated letter', value: 'a'.repeat(room - 10) },
      ]
    }
    if (option.type === 'array') return wrongLists(option, room, level)
    if (option.type !== 'object') return []
    return [
      { what: 'unknown fields', value: unknownFields(room) },
      ...(level > 1
        ? []
        : Object.entries(option.properties ?? {}).flatMap(([name, inner]) =>
            wrong(inner, room - 100, level + 1).map(({ value, what }) => ({
              what: `${what} in ${name}`,
              value: { [name]: value },
            })),
          )),
    ]
  })
}

function wrongLists({ items = {}, maxItems }: Schema, room: number, level: number) {
  const filled = (what: string, one: unknown) => {
    const fitting = Math.floor(room / (sizeOf(one) + 1))
    const most = Math.min(maxItems ?? fitting, fitting)
    return [
      { what: `${fitting} ${what}`, value: copies(one, fitting) },
      ...(most < fitting && most > 0 ? [{ what: `${most} ${what}`, value: copies(one, most) }] : []),
    ]
  }
  const each = maxItems === undefined ? 200 : Math.floor(room / maxItems) - 10
  const item = items['x-judged'] ?? items
  return [
    ...filled('numbers', 0),
    ...filled('short texts', 'xxxxxx'),
    ...filled('objects', {}),
    ...filled('objects with unknown fields', unknownFields(Math.max(20, each))),
    ...(level > 1
      ? []
      : wrong(item, Math.max(20, each), level + 1).flatMap(({ value, what }) => filled(`items: ${what}`, value))),
  ]
}

/** Long queries: the longest values that the schema accepts, and unknown parameters. */
function queries(op: NamedOperation, send: SendOptions): Candidate[] {
  const properties = Object.entries((op.query as Schema | undefined)?.properties ?? {})
  const base = send.query ?? {}
  const long = properties.flatMap(([name, schema]) => {
    const value = largest(schema, QUERY_ROOM)
    return typeof value === 'string' || typeof value === 'number' ? [{ name, value: String(value) }] : []
  })
  const fitting = long.filter(({ value }) => encodeURIComponent(value).length < QUERY_ROOM)
  return [
    ...fitting.map(({ name, value }) => ({
      what: `largest ${name} in the query`,
      send: { ...send, query: { ...base, [name]: value } },
    })),
    {
      what: 'unknown parameters',
      send: { ...send, query: { ...base, ...unknownFields(QUERY_ROOM) } },
    },
  ]
}

function files({ upload }: NamedOperation, send: SendOptions): Candidate[] {
  const room = Math.min(FILE_ROOM, upload?.maxBytes ?? FILE_ROOM)
  const contents = [
    { what: 'a file of commas', content: Buffer.alloc(room, 'x,') },
    { what: 'a file of lines', content: Buffer.alloc(room, 'content,draft\nx,true\n') },
    { what: 'a file of quotes', content: Buffer.alloc(room, '"') },
    { what: 'a file of zeros', content: Buffer.alloc(room) },
  ]
  return contents.map(({ content, what }) =>
    send.file === undefined
      ? { what, send: { ...send, body: content } }
      : { what, send: { ...send, file: { ...send.file, content } } },
  )
}
