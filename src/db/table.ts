import type { PageRequest } from '../core/page.ts'
import type { Sql, SqlValue } from '../core/sql.ts'
import type { RowToInsert } from '../core/turn.ts'
import { comparisonOf, conditionText, lessThan, takesParameter, type Where } from './condition.ts'
import { Increment } from './increment.ts'
import type { AnyEntity, NewRow, Row, RowInput } from './row.ts'
import { RowShapes } from './row-shape.ts'
import { columnsOf } from './table-columns.ts'

type Direction = 'asc' | 'desc'

export interface FindOptions<E extends AnyEntity, K extends keyof Row<E>> {
  /** The properties to read; all by default. */
  readonly columns?: readonly K[]
  readonly orderBy?: readonly `${keyof Row<E> & string} ${Direction}`[]
  readonly limit?: number
  /** Locks the rows until the transaction ends. */
  readonly lock?: 'for update' | 'for share' | 'for no key update' | 'for update skip locked'
}

/**
 * New values by property. `increment()` adds to the value in the row. Properties that are `undefined` do not change.
 */
export type Changes<E extends AnyEntity> = {
  readonly [K in keyof RowInput<E>]?: RowInput<E>[K] | Increment | undefined
}

/**
 * Typed statements on one table, derived from its entity, which is the only place that names columns and types. Rows
 * use the entity's property names. Times are ISO 8601 text when read, and text or `Date` when written.
 *
 * Each method runs one prepared statement. Its text depends on the properties and comparisons, never on values.
 * Conditions that are `undefined` throw, so that a missing filter cannot match every row.
 */
export class Table<E extends AnyEntity> {
  readonly name: string
  readonly entity: E
  /** Column names by property. */
  readonly #columns: ReadonlyMap<string, string>
  readonly #json: ReadonlySet<string>
  /** Properties that are timestamps. */
  readonly #times: ReadonlySet<string>
  readonly #texts = new Map<string, string>()
  readonly #shapes: RowShapes

  constructor(entity: E) {
    this.entity = entity
    this.name = entity.meta.tableName
    const columns = columnsOf(entity)
    this.#columns = new Map(columns.map(({ property, column }) => [property, column]))
    this.#json = new Set(columns.filter(({ json }) => json).map(({ property }) => property))
    this.#times = new Set(columns.filter(({ time }) => time).map(({ property }) => property))
    this.#shapes = new RowShapes(this.name, (property) => this.#column(property))
  }

  /** The rows that match all conditions. */
  find<K extends keyof Row<E> & string = keyof Row<E> & string>(
    sql: Sql,
    where: Where<RowInput<E>>,
    options: FindOptions<E, K> = {},
  ): Promise<Pick<Row<E>, K>[]> {
    const { columns, orderBy = [], limit, lock = '' } = options
    const { key, values, text } = this.#where(where)
    const name = `find ${columns?.join() ?? '*'} ${key} ${orderBy.join()} ${limit === undefined ? '' : '#'} ${lock}`
    const statement = this.#text(name, () => {
      const order = orderBy.map((entry) => {
        const [property = '', direction] = entry.split(' ')
        return `${this.#column(property)} ${direction}`
      })
      return (
        `select ${this.#selection(columns)} from ${this.name}${text(1)}` +
        (order.length === 0 ? '' : ` order by ${order.join(', ')}`) +
        (limit === undefined ? '' : ` limit $${values.length + 1}`) +
        (lock === '' ? '' : ` ${lock}`)
      )
    })
    return sql.rows(statement, limit === undefined ? values : [...values, limit])
  }

  /** The first matching row, if any. */
  async first<K extends keyof Row<E> & string = keyof Row<E> & string>(
    sql: Sql,
    where: Where<RowInput<E>>,
    options: Omit<FindOptions<E, K>, 'limit'> = {},
  ): Promise<Pick<Row<E>, K> | undefined> {
    const [row] = await this.find(sql, where, { ...options, limit: 1 })
    return row
  }

  /**
   * A page of `limit + 1` rows for `pageOf`, newest first. Ids are UUIDs of version 7, which sort by creation time, so
   * the id alone is the cursor.
   */
  page<K extends keyof Row<E> & string = keyof Row<E> & string>(
    sql: Sql,
    where: Where<RowInput<E>>,
    { after, limit }: PageRequest,
    columns?: readonly K[],
  ): Promise<Pick<Row<E>, K>[]> {
    const from = after === undefined ? where : { ...where, id: lessThan(after.id) }
    return this.find(sql, from, {
      ...(columns && { columns }),
      orderBy: ['id desc'] as never,
      limit: limit + 1,
    })
  }

  async exists(sql: Sql, where: Where<RowInput<E>>): Promise<boolean> {
    const { key, values, text } = this.#where(where)
    const statement = this.#text(`exists ${key}`, () => `select 1 from ${this.name}${text(1)} limit 1`)
    return (await sql.row(statement, values)) !== undefined
  }

  async count(sql: Sql, where: Where<RowInput<E>>): Promise<number> {
    const { key, values, text } = this.#where(where)
    const statement = this.#text(`count ${key}`, () => `select count(*) as count from ${this.name}${text(1)}`)
    const row = await sql.row<{ count: number }>(statement, values)
    return row?.count ?? 0
  }

  /**
   * Inserts one row.
   * @returns how many rows were inserted: 0 if `ignoreConflict` is set and the row already exists
   * @throws the constraint violation (see `isUniqueViolation`)
   */
  async insert(sql: Sql, row: NewRow<E>, options: { readonly ignoreConflict?: boolean } = {}): Promise<number> {
    const { properties, values } = this.#input(row)
    const { ignoreConflict = false } = options
    const statement = this.#text(`insert ${properties.join()} ${ignoreConflict}`, () => {
      const conflict = ignoreConflict ? ' on conflict do nothing' : ''
      return `${this.#into(properties)} values (${places(properties.length)})${conflict}`
    })
    return sql.run(statement, values)
  }

  /**
   * Inserts rows with one statement and one parameter.
   * @returns how many rows were inserted; `ignoreConflict` skips rows that already exist
   * @throws TypeError if the rows have different properties, because a missing column would become null
   */
  async insertAll(
    sql: Sql,
    rows: readonly NewRow<E>[],
    { ignoreConflict = false }: { readonly ignoreConflict?: boolean } = {},
  ): Promise<number> {
    const shaped = rows.map((row) => this.#shapes.shaped(row))
    const [first] = shaped
    if (first === undefined) return 0
    if (shaped.some(({ shape }) => shape !== first.shape)) {
      throw new TypeError(`rows for ${this.name} have different properties`)
    }
    return sql.run(first.shape.insert(ignoreConflict), [JSON.stringify(shaped.map(({ row }) => row))])
  }

  /**
   * Inserts a row, or updates the row with the same key.
   * @param key the properties of a unique constraint
   * @param changes what to change in an existing row; by default the inserted values of all other properties
   */
  async upsert(
    sql: Sql,
    row: NewRow<E>,
    key: readonly (keyof Row<E> & string)[],
    changes?: readonly (keyof Row<E> & string)[],
  ): Promise<number> {
    const { properties, values } = this.#input(row)
    const changed = changes ?? properties.filter((property) => !(key as readonly string[]).includes(property))
    const statement = this.#text(`upsert ${properties.join()} ${key.join()} ${changed.join()}`, () => {
      const sets = changed.map((property) => `${this.#column(property)} = excluded.${this.#column(property)}`)
      const target = key.map((property) => this.#column(property)).join(', ')
      return (
        `${this.#into(properties)} values (${places(properties.length)}) ` +
        `on conflict (${target}) do update set ${sets.join(', ')}`
      )
    })
    return sql.run(statement, values)
  }

  /**
   * Updates the matching rows.
   * @returns how many
   */
  async update(sql: Sql, where: Where<RowInput<E>>, changes: Changes<E>): Promise<number> {
    const { statement, values } = this.#update(where, changes, '')
    return sql.run(statement, values)
  }

  /**
   * Updates the matching rows.
   * @returns the updated rows
   */
  async updateReturning(sql: Sql, where: Where<RowInput<E>>, changes: Changes<E>): Promise<Row<E>[]> {
    const { statement, values } = this.#update(where, changes, this.#returning())
    return sql.rows<Row<E>>(statement, values)
  }

  /**
   * Deletes the matching rows.
   * @returns how many
   */
  async delete(sql: Sql, where: Where<RowInput<E>>): Promise<number> {
    const { statement, values } = this.#delete(where, '')
    return sql.run(statement, values)
  }

  /**
   * Deletes the matching rows.
   * @returns the deleted rows with the named properties, or all
   */
  async deleteReturning<K extends keyof Row<E> & string = keyof Row<E> & string>(
    sql: Sql,
    where: Where<RowInput<E>>,
    columns?: readonly K[],
  ): Promise<Pick<Row<E>, K>[]> {
    const { statement, values } = this.#delete(where, this.#returning(columns))
    return sql.rows<Pick<Row<E>, K>>(statement, values)
  }

  /**
   * Deletes at most `limit` of the matching rows, so that no statement takes long. Skips rows that another transaction
   * has locked.
   * @returns the deleted rows with the named properties
   */
  async deleteSome<K extends keyof Row<E> & string>(
    sql: Sql,
    where: Where<RowInput<E>>,
    limit: number,
    columns: readonly K[],
  ): Promise<Pick<Row<E>, K>[]> {
    const { key, values, text } = this.#where(where)
    this.#requireConditions(key, 'delete')
    const statement = this.#text(`delete some ${key} ${columns.join()}`, () => {
      const some = `select ctid from ${this.name}${text(1)} limit $${values.length + 1} for update skip locked`
      return `delete from ${this.name} where ctid = any(array(${some}))${this.#returning(columns)}`
    })
    return sql.rows<Pick<Row<E>, K>>(statement, [...values, limit])
  }

  /** All properties of a row, for typed statements that select or return whole rows. */
  get properties(): readonly (keyof Row<E> & string)[] {
    return [...this.#columns.keys()] as (keyof Row<E> & string)[]
  }

  /** A row for `Turn.insert`. */
  toInsert(row: NewRow<E>, { ignoreConflict = false }: { readonly ignoreConflict?: boolean } = {}): RowToInsert {
    return this.#shapes.toInsert(row, ignoreConflict)
  }

  /** A row by column names, for `json_populate_recordset`. */
  toColumns(row: NewRow<E>): Readonly<Record<string, unknown>> {
    return this.#shapes.shaped(row).row
  }

  /**
   * Converts a row that was read as JSON (`json_agg`), with column names and PostgreSQL's time format. Fields that are
   * not columns are dropped.
   */
  fromColumns(json: Readonly<Record<string, unknown>>): Row<E> {
    const row: Record<string, unknown> = {}
    for (const [property, column] of this.#columns) {
      const value = json[column]
      if (value === undefined) continue
      row[property] = this.#times.has(property) && value !== null ? new Date(value as string).toISOString() : value
    }
    return row as Row<E>
  }

  /** A select list: `a.id, a.workspace_id as "workspaceId"`. For SQL that is written by hand. */
  selection(alias?: string, columns?: readonly (keyof Row<E> & string)[]): string {
    return this.#selection(columns, alias)
  }

  #update(where: object, changes: object, returning: string): { statement: string; values: SqlValue[] } {
    const entries = Object.entries(changes).filter(([, value]) => value !== undefined)
    if (entries.length === 0) throw new TypeError(`an update of ${this.name} changes nothing`)
    const conditions = this.#where(where)
    this.#requireConditions(conditions.key, 'update')
    const values = entries.map(([property, value]) =>
      value instanceof Increment ? value.by : this.#value(property, value),
    )
    const key = entries.map(([property, value]) => (value instanceof Increment ? `+${property}` : property)).join()
    const statement = this.#text(`update ${key} ${conditions.key} ${returning !== ''}`, () => {
      const sets = entries.map(([property, value], index) => {
        const column = this.#column(property)
        return value instanceof Increment ? `${column} = ${column} + $${index + 1}` : `${column} = $${index + 1}`
      })
      return `update ${this.name} set ${sets.join(', ')}${conditions.text(entries.length + 1)}${returning}`
    })
    return { statement, values: [...values, ...conditions.values] }
  }

  #delete(where: object, returning: string): { statement: string; values: SqlValue[] } {
    const { key, values, text } = this.#where(where)
    this.#requireConditions(key, 'delete')
    const statement = this.#text(`delete ${key} ${returning}`, () => `delete from ${this.name}${text(1)}${returning}`)
    return { statement, values }
  }

  #requireConditions(key: string, verb: string): void {
    if (key === '') throw new TypeError(`${verb} of ${this.name} without a condition`)
  }

  #where(where: object) {
    const conditions = Object.entries(where).map(([property, value]) => ({
      property,
      comparison: comparisonOf(property, value),
    }))
    const values: SqlValue[] = []
    let key = ''
    for (const { property, comparison } of conditions) {
      key += `${property}${comparison.through}${comparison.operator},`
      if (takesParameter(comparison)) values.push(comparison.operand as SqlValue)
    }
    const text = (first: number) => {
      let next = first
      const parts = conditions.map(({ property, comparison }) => {
        const part = conditionText(this.#column(property), comparison, next)
        if (takesParameter(comparison)) next += 1
        return part
      })
      return parts.length === 0 ? '' : ` where ${parts.join(' and ')}`
    }
    return { key, values, text }
  }

  #input(row: object): { properties: string[]; values: SqlValue[] } {
    const entries = Object.entries(row).filter(([, value]) => value !== undefined)
    return {
      properties: entries.map(([property]) => property),
      values: entries.map(([property, value]) => this.#value(property, value)),
    }
  }

  /** The driver would write an array as a PostgreSQL array, which is wrong for a JSON column. */
  #value(property: string, value: unknown): SqlValue {
    return this.#json.has(property) && value !== null ? JSON.stringify(value) : (value as SqlValue)
  }

  #into(properties: readonly string[]): string {
    return `insert into ${this.name} (${properties.map((property) => this.#column(property)).join(', ')})`
  }

  #selection(properties: Iterable<string> | undefined, alias?: string): string {
    const prefix = alias === undefined ? '' : `${alias}.`
    return [...(properties ?? this.#columns.keys())]
      .map((property) => {
        const column = this.#column(property)
        return column === property ? `${prefix}${column}` : `${prefix}${column} as "${property}"`
      })
      .join(', ')
  }

  #returning(columns?: readonly string[]): string {
    return ` returning ${this.#selection(columns)}`
  }

  #column(property: string): string {
    const column = this.#columns.get(property)
    if (column === undefined) throw new TypeError(`${this.name} has no property ${property}`)
    return column
  }

  #text(key: string, make: () => string): string {
    let text = this.#texts.get(key)
    if (text === undefined) {
      text = make()
      this.#texts.set(key, text)
    }
    return text
  }
}

/** Typed statements on the table of an entity. */
export function table<E extends AnyEntity>(entity: E): Table<E> {
  return new Table(entity)
}

function places(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')
}
