import { Type, type Static, type TArrayOptions, type TObject, type TProperties, type TSchema } from 'typebox'
import { Format } from 'typebox/format'
import { parseInstant } from './instant.ts'

/**
 * Building blocks of request and response schemas. A schema is plain JSON Schema 2020-12, as in OpenAPI 3.1, so
 * validation, documentation and serializers use the same object.
 */

const names = new WeakMap<TSchema, string>()

/** Names a schema. OpenAPI lists it once under this name and refers to it. */
export function named<S extends TSchema>(name: string, schema: S): S {
  names.set(schema, name)
  return schema
}

/** The name given by `named`, if any. */
export function nameOf(schema: TSchema): string | undefined {
  return names.get(schema)
}

/** An object in a request. Unknown fields are refused. */
export function Input<P extends TProperties>(properties: P, options: object = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

export const Id = Type.String({
  format: 'uuid',
  description: 'UUID (version 7)',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
})

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC, with milliseconds',
})

// Stricter than the library's format, which accepts impossible dates and moments outside the range of PostgreSQL or
// ISO.
Format.Set('date-time', (text) => parseInstant(text) !== undefined)

/** A date and time with an offset, sent by a caller. Parse it with `instant`. */
export const InstantInput = Type.String({
  format: 'date-time',
  maxLength: 40,
  description: 'ISO 8601 date and time with an offset or Z, from year 1 to year 9999 in UTC',
})

/** A position in an order of whole numbers, such as `seq`. */
export function Sequence(options: object = {}) {
  return Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...options })
}

/**
 * Names the history that numbers such as `seq` belong to. It changes when another database has taken over, which may lack
 * changes that clients have seen, and gives their numbers to other changes.
 */
export const Generation = Type.String({
  maxLength: 40,
  description:
    'Names the history that the numbers belong to. It changes when a backup was restored or a standby has taken over. Keep it with your number, and send both',
})

/** Trimmed text of `min` to `max` characters. */
export function Text(min: number, max: number, options: object = {}) {
  return Type.String({ minLength: min, maxLength: max, ...options })
}

/**
 * A list whose items the operation validates itself, so that it can give each its own verdict. They arrive unchecked,
 * whatever their type says. The API documents show them as `item`.
 */
export function Judged<S extends TSchema>(item: S, options: TArrayOptions = {}) {
  return Type.Array(Type.Unsafe<Static<S>>({ 'x-judged': item }), options)
}

export function Nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()])
}

/** One of several strings, documented as `enum`. */
export function OneOf<const V extends readonly [string, ...string[]]>(values: V, options: object = {}) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...options })
}

/** The metadata of a schema made with `States`, in addition to its values. */
export interface StateTable {
  readonly title: string
  readonly description: string
  /** The meaning of each value: one Markdown sentence without a full stop. */
  readonly 'x-enumDescriptions': Readonly<Record<string, string>>
}

/**
 * One of several states, reasons or codes that programs act on, each with its meaning. Both API documents list the
 * values under `name`, and `/docs/states` shows them as a table.
 *
 * @param name of the component in the documents
 * @param description what the state or code describes
 */
export function States<const M extends Readonly<Record<string, string>>>(
  name: string,
  description: string,
  meanings: M,
) {
  const table: StateTable = { title: name, description, 'x-enumDescriptions': meanings }
  return named(name, Type.Unsafe<keyof M & string>({ type: 'string', enum: Object.keys(meanings), ...table }))
}

/** `{ status: true, message, data }`: the common envelope. The contract names the few replies without it. */
export function Envelope<S extends TSchema>(data: S) {
  return Type.Object({ status: Type.Literal(true), message: Type.String(), data })
}

/** The envelope of a reply without data. */
export const Done = Type.Object({ status: Type.Literal(true), message: Type.String() })

export const PageInfo = named(
  'Pagination',
  Type.Object({
    limit: Type.Integer(),
    hasMore: Type.Boolean(),
    nextCursor: Nullable(Type.String()),
    page: Type.Optional(Type.Integer()),
    pages: Type.Optional(Type.Integer()),
    total: Type.Optional(Type.Integer()),
  }),
)

/** The envelope of a list. */
export function ListOf<S extends TSchema>(item: S) {
  return Type.Object({
    status: Type.Literal(true),
    message: Type.String(),
    data: Type.Array(item),
    pagination: PageInfo,
  })
}

/** The common fields of every resource. */
export const ResourceBase = { _id: Id, createdAt: Timestamp, updatedAt: Timestamp }

const hint = Type.Optional(
  Type.String({ description: 'For platform administrators: what the operator of the server can do about it' }),
)

export const ErrorBody = named(
  'ErrorResponse',
  Type.Object({
    status: Type.Literal(false),
    message: Type.String(),
    code: Type.String(),
    requestId: Type.String(),
    docUrl: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), code: Type.String(), message: Type.String() })),
    ),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    hint,
  }),
)

export const ProblemBody = named(
  'Problem',
  Type.Object({
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String(),
    code: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), code: Type.String(), message: Type.String() })),
    ),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    hint,
  }),
)

export { Type, type Static, type TProperties, type TSchema }
