import type { RowToInsert } from '../core/turn.ts'

/** A row by column names, and the shape that it has. */
export interface ShapedRow {
  readonly shape: RowShape
  readonly row: Readonly<Record<string, unknown>>
}

/**
 * The properties of a row, in order, and their columns. One statement inserts any number of rows of one shape:
 * PostgreSQL casts each JSON field to the type of its column.
 */
export class RowShape {
  readonly #properties: readonly string[]
  readonly #columns: readonly string[]
  /** All columns without values. Each row is a copy of it, because adding columns one by one is several times slower. */
  readonly #empty: Readonly<Record<string, undefined>>
  readonly #insert: string

  constructor(table: string, properties: readonly string[], columnOf: (property: string) => string) {
    this.#properties = properties
    this.#columns = properties.map(columnOf)
    this.#empty = Object.fromEntries(this.#columns.map((column) => [column, undefined]))
    const names = this.#columns.map((column) => `"${column}"`).join(', ')
    this.#insert = `insert into "${table}" (${names}) select ${names} from json_populate_recordset(null::"${table}", $1::json)`
  }

  /** The statement that inserts rows of this shape. Its parameter is a JSON array of the rows. */
  insert(ignoreConflict: boolean): string {
    return ignoreConflict ? `${this.#insert} on conflict do nothing` : this.#insert
  }

  /** The row by column names, or undefined if it names other properties or another order. */
  rename(row: object): Record<string, unknown> | undefined {
    const renamed: Record<string, unknown> = { ...this.#empty }
    let next = 0
    for (const property of Object.keys(row)) {
      const value = (row as Record<string, unknown>)[property]
      if (value === undefined) continue
      if (this.#properties[next] !== property) return undefined
      // JSON leaves `undefined` out, and PostgreSQL reads a missing field as null. Many columns of most rows are null.
      renamed[this.#columns[next] as string] = value ?? undefined
      next += 1
    }
    return next === this.#properties.length ? renamed : undefined
  }
}

/** The shapes of the rows of a table. The code uses only a few sets of properties, so the list stays short. */
export class RowShapes {
  readonly #table: string
  readonly #columnOf: (property: string) => string
  readonly #shapes: RowShape[] = []

  /** @param columnOf the column of a property; throws if there is none */
  constructor(table: string, columnOf: (property: string) => string) {
    this.#table = table
    this.#columnOf = columnOf
  }

  /** The row by column names. Properties that are `undefined` are left out. */
  shaped(row: object): ShapedRow {
    for (const shape of this.#shapes) {
      const renamed = shape.rename(row)
      if (renamed !== undefined) return { shape, row: renamed }
    }
    const properties = Object.entries(row).flatMap(([property, value]) => (value === undefined ? [] : [property]))
    const shape = new RowShape(this.#table, properties, this.#columnOf)
    this.#shapes.push(shape)
    return { shape, row: shape.rename(row) as ShapedRow['row'] }
  }

  toInsert(row: object, ignoreConflict = false): RowToInsert {
    const shaped = this.shaped(row)
    return { statement: shaped.shape.insert(ignoreConflict), row: shaped.row }
  }
}
