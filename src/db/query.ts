import type { SelectionNode } from 'kysely'
import {
  sql as raw,
  AliasNode,
  ColumnNode,
  DummyDriver,
  IdentifierNode,
  Kysely,
  OperationNodeTransformer,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  ReferenceNode,
  SelectAllNode,
  SelectQueryNode,
  type ColumnType,
  type Compilable,
  type KyselyPlugin,
  type RawBuilder,
  type SqlBool,
  type RootOperationNode,
} from 'kysely'
import type { Sql, SqlValue } from '../core/sql.ts'
import { columnName } from './naming.ts'
import type { AnyEntity, NewRow, Row, RowInput } from './row.ts'

/** Tables by their names in a query: the table's own name in camel case. */
type Tables = Readonly<Record<string, { readonly name: string; readonly entity: AnyEntity }>>

type SchemaOf<E extends AnyEntity> = {
  [K in keyof Row<E>]: ColumnType<
    Row<E>[K],
    K extends keyof NewRow<E> ? NewRow<E>[K] : never,
    K extends keyof RowInput<E> ? RowInput<E>[K] : never
  >
}

/** The tables of a query as Kysely types, for expressions that several queries share. */
export type DatabaseOf<T extends Tables> = { [K in keyof T]: SchemaOf<T[K]['entity']> }

/** A statement that is compiled once and runs prepared. */
export interface Query<P extends object, R> {
  rows(sql: Sql, parameters: P): Promise<R[]>
  /** The first row, or undefined. */
  row(sql: Sql, parameters: P): Promise<R | undefined>
  /** The number of rows that the statement changed. */
  run(sql: Sql, parameters: P): Promise<number>
}

/**
 * Declares a statement with joins or optional filters, typed by the entities of its tables. Rows have property names.
 *
 * `build` gets parameters as placeholders. It runs once for each set of parameters that are not `undefined`, so an
 * optional filter is an `if`:
 *
 * ```ts
 * const byStatus = query({ streams }, (db, $: { workspaceId: string; status?: string }) => {
 *   const found = db.selectFrom('streams').select(['id', 'createdAt']).where('workspaceId', '=', $.workspaceId)
 *   return $.status === undefined ? found : found.where('status', '=', $.status)
 * })
 * await byStatus.rows(sql, { workspaceId })
 * ```
 *
 * A list is one parameter: `sql<boolean>`\`id = any(${$.ids})\`. A filter of one or several values is `Values`.
 */
export function query<T extends Tables, P extends object, R>(
  tables: T,
  build: (db: Kysely<DatabaseOf<T>>, parameters: P) => Compilable<R>,
): Query<P, R> {
  for (const [name, { name: tableName }] of Object.entries(tables)) {
    if (columnName(name) !== tableName) throw new TypeError(`${name} is not the table ${tableName} in camel case`)
  }
  const compiled = new Map<string, CompiledStatement>()

  function statementFor(parameters: P): CompiledStatement {
    const present = Object.entries(parameters).filter(([, value]) => value !== undefined)
    const key = present.map(([name, value]) => (isSeveral(value) ? `${name}[]` : name)).join()
    let statement = compiled.get(key)
    if (statement === undefined) {
      const placeholders = Object.fromEntries(
        present.map(([name, value]) => [name, new Placeholder(name, isSeveral(value))]),
      )
      const built = build(cold as Kysely<DatabaseOf<T>>, placeholders as P).compile()
      requireNamedColumns(built.query)
      const { sql, parameters: values } = built
      statement = { text: sql, values }
      compiled.set(key, statement)
    }
    return statement
  }

  function bound(parameters: P): [string, SqlValue[]] {
    const { text, values } = statementFor(parameters)
    return [
      text,
      values.map((value) =>
        value instanceof Placeholder ? argument(parameters[value.name as keyof P]) : (value as SqlValue),
      ),
    ]
  }

  return {
    rows: (sql, parameters) => sql.rows<R & object>(...bound(parameters)),
    row: (sql, parameters) => sql.row<R & object>(...bound(parameters)),
    run: (sql, parameters) => sql.run(...bound(parameters)),
  }
}

interface CompiledStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

class Placeholder {
  readonly name: string
  /** Whether it stands for an array. */
  readonly several: boolean

  constructor(name: string, several: boolean) {
    this.name = name
    this.several = several
  }
}

/**
 * One or several values of a filter. There is a statement for one value, with `=`, because an index can then give the
 * order, too, and another one for several.
 */
export class Values<T> {
  readonly list: readonly T[]

  constructor(list: readonly T[]) {
    this.list = list
  }
}

/** The values of a filter as a parameter; undefined without the filter. */
export function values<T>(list: readonly T[] | undefined): Values<T> | undefined {
  return list && new Values(list)
}

/** The condition that a column has one of these values. @param column with the alias of its table, if it has one */
export function isOneOf(column: string, wanted: Values<unknown>): RawBuilder<SqlBool> {
  const ref = raw.ref(column)
  return isSeveral(wanted) ? raw<SqlBool>`${ref} = any(${wanted})` : raw<SqlBool>`${ref} = ${wanted}`
}

/** The condition that an array has one of these values. An index of its elements can find it. */
export function hasOneOf(column: string, wanted: Values<unknown>, type: 'text' | 'uuid'): RawBuilder<SqlBool> {
  const [ref, of] = [raw.ref(column), raw.raw(type)]
  return isSeveral(wanted)
    ? raw<SqlBool>`${ref} && ${wanted}::${of}[]`
    : raw<SqlBool>`${ref} @> array[${wanted}::${of}]`
}

/** Whether a filter, as a statement is built, has several values and not one. */
export function isSeveral(value: unknown): boolean {
  if (value instanceof Placeholder) return value.several
  return value instanceof Values && value.list.length !== 1
}

function argument(value: unknown): SqlValue {
  if (!(value instanceof Values)) return value as SqlValue
  return (isSeveral(value) ? value.list : value.list[0]) as SqlValue
}

/**
 * Maps property names to column names, and back in the result: selected and returned columns get an alias. In
 * subqueries and common table expressions, columns keep their database names.
 */
class PropertyNames extends OperationNodeTransformer implements KyselyPlugin {
  #depth = 0

  transformQuery({ node }: { node: RootOperationNode }): RootOperationNode {
    // A select counts itself when it is visited. The selects in other statements are always subqueries.
    this.#depth = node.kind === 'SelectQueryNode' ? 0 : 1
    return this.transformNode(node)
  }

  async transformResult<R>({ result }: { result: R }): Promise<R> {
    return result
  }

  protected override transformNodeImpl<N extends { kind: string }>(node: N): N {
    const inner = ['SelectQueryNode', 'CommonTableExpressionNode'].includes(node.kind)
    if (inner) this.#depth += 1
    try {
      return super.transformNodeImpl(node as never)
    } finally {
      if (inner) this.#depth -= 1
    }
  }

  protected override transformSelection(node: SelectionNode): SelectionNode {
    const transformed = super.transformSelection(node)
    const { selection } = transformed
    if (this.#depth > 1) return transformed
    if (AliasNode.is(node.selection)) {
      // Keeps the alias that the caller chose.
      return { ...transformed, selection: { ...(selection as AliasNode), alias: node.selection.alias } }
    }
    const before = columnOf(node)
    if (before === undefined || before === columnName(before)) return transformed
    return { ...transformed, selection: AliasNode.create(selection, IdentifierNode.create(before)) }
  }

  protected override transformIdentifier(node: IdentifierNode): IdentifierNode {
    return { ...node, name: columnName(node.name) }
  }
}

/**
 * Refuses `select *` and `returning *` for the result of the query, because its rows would have database names, which do
 * not match their type. In a subquery they are harmless.
 */
function requireNamedColumns(node: RootOperationNode): void {
  const selections = SelectQueryNode.is(node) ? node.selections : 'returning' in node ? node.returning?.selections : []
  const isAll = ({ selection }: SelectionNode) =>
    SelectAllNode.is(selection) || (ReferenceNode.is(selection) && SelectAllNode.is(selection.column))
  if (selections?.some(isAll)) throw new TypeError('a query must name the columns that it selects')
}

function columnOf({ selection }: SelectionNode): string | undefined {
  if (ReferenceNode.is(selection) && ColumnNode.is(selection.column)) return selection.column.column.name
  return ColumnNode.is(selection) ? selection.column.name : undefined
}

/** A dialect that compiles SQL and never connects. */
const cold = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
  plugins: [new PropertyNames()],
})
