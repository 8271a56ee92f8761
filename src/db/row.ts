/** The part of an entity, as created by `defineEntity`, that row types are derived from. */
export interface AnyEntity {
  readonly tableName: string
  readonly properties: Readonly<Record<string, unknown>>
  readonly meta: { readonly tableName: string; readonly properties: object }
}

type Builders<E extends AnyEntity> = E['properties']

/** Relations over several columns and properties that are not persisted are not columns of a row. */
type IsColumn<B> = B extends { '~options': infer O }
  ? O extends { persist: false } | { kind: '1:m' | 'm:n' }
    ? false
    : O extends { kind: 'm:1' | '1:1' }
      ? O extends { mapToPk: true }
        ? true
        : false
      : true
  : false

type HasDefault<B> = B extends {
  '~options': { nullable: true } | { default: unknown } | { defaultRaw: unknown } | { autoincrement: true }
}
  ? true
  : false

type IdOf<Referenced> = Referenced extends { id: number } ? number : string

/** The type in which prepared SQL returns a value: times as ISO 8601 text, a reference as the stored id. */
type Value<B> = B extends { '~type'?: { value: infer V }; '~options': infer O }
  ?
      | (O extends { kind: 'm:1' | '1:1' } ? IdOf<V> : V extends Date ? string : O extends { array: true } ? V[] : V)
      | (O extends { nullable: true } ? null : never)
  : never

/** The type of a value to write or to compare with. Times may also be `Date`. */
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

/** A row to insert. Nullable columns and columns with a default may be omitted or `undefined`. */
export type NewRow<E extends AnyEntity> = Readonly<
  Omit<RowInput<E>, DefaultedKeys<E>> & { [K in DefaultedKeys<E>]?: RowInput<E>[K] | undefined }
>
