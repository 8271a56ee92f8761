/** The part of an entity, as `defineEntity` makes it, that rows are derived from. */
export interface AnyEntity {
  readonly tableName: string
  readonly properties: Readonly<Record<string, unknown>>
  readonly meta: { readonly tableName: string; readonly properties: object }
}

type Builders<E extends AnyEntity> = E['properties']

/** Relations that stand for several columns, and what is not stored, are no columns of a row. */
type IsColumn<B> = B extends { '~options': infer O }
  ? O extends { persist: false } | { kind: '1:m' | 'm:n' }
    ? false
    : O extends { kind: 'm:1' | '1:1' }
      ? O extends { mapToPk: true }
        ? true
        : false
      : true
  : false

type HasDefault<B> = B extends { '~options': { nullable: true } | { default: unknown } | { defaultRaw: unknown } }
  ? true
  : false

/** How prepared SQL hands out a value: times as ISO 8601 text, a reference as the id that it stores. */
type Value<B> = B extends { '~type'?: { value: infer V }; '~options': infer O }
  ?
      | (O extends { kind: 'm:1' | '1:1' } ? string : V extends Date ? string : O extends { array: true } ? V[] : V)
      | (O extends { nullable: true } ? null : never)
  : never

/** A value to write or to compare with: times also as `Date`. */
type Written<B> = Value<B> | (B extends { '~type'?: { value: infer V } } ? (V extends Date ? Date : never) : never)

type Columns<E extends AnyEntity> = {
  [K in keyof Builders<E> & string as IsColumn<Builders<E>[K]> extends true ? K : never]: Builders<E>[K]
}

/** A row as it is read. */
export type Row<E extends AnyEntity> = { -readonly [K in keyof Columns<E>]: Value<Columns<E>[K]> }

/** Values of a row to write or to compare with. */
export type RowInput<E extends AnyEntity> = { [K in keyof Columns<E>]: Written<Columns<E>[K]> }

type DefaultedKeys<E extends AnyEntity> = {
  [K in keyof Columns<E>]: HasDefault<Columns<E>[K]> extends true ? K : never
}[keyof Columns<E>]

/** A row to insert: a column that may be null or has a default can be left out, or be `undefined`. */
export type NewRow<E extends AnyEntity> = Readonly<
  Omit<RowInput<E>, DefaultedKeys<E>> & { [K in DefaultedKeys<E>]?: RowInput<E>[K] | undefined }
>
