/** A comparison of a column other than equality. */
export class Comparison<T> {
  /** SQL after the column, with `$` for the parameter. Without a `$` there is no parameter. */
  readonly operator: string
  readonly operand: T
  /** A function to apply to the column first. */
  readonly through: string

  constructor(operator: string, operand: T, through = '') {
    this.operator = operator
    this.operand = operand
    this.through = through
  }
}

/** Equal to one of these values. No row matches an empty list. */
export const anyOf = <T>(values: readonly T[]) => new Comparison<T>('= any($)', values as T)
/** Equal to one of the values of a filter. One value is compared by `=`, because an index can then give the order, too. */
export const oneOf = <T>(values: readonly T[]): T | Comparison<T> =>
  values.length === 1 ? (values[0] as T) : anyOf(values)
/** Not equal to this value. `not(null)` means "is not null". A null column matches every other value. */
export const not = <T>(value: T) => new Comparison<T>(value === null ? 'is not null' : 'is distinct from $', value)
export const lessThan = <T>(value: T) => new Comparison<T>('< $', value)
export const greaterThan = <T>(value: T) => new Comparison<T>('> $', value)
export const atMost = <T>(value: T) => new Comparison<T>('<= $', value)
export const atLeast = <T>(value: T) => new Comparison<T>('>= $', value)
/** The same text, ignoring case, as defined by PostgreSQL's `lower`. */
export const sameText = (value: string) => new Comparison<string>('= lower($)', value, 'lower')

/** Conditions by property. All must hold. `null` matches a null column. */
export type Where<Values> = { readonly [K in keyof Values]?: Values[K] | Comparison<Values[K]> }

const IS_NULL = new Comparison('is null', null)

export function comparisonOf(property: string, value: unknown): Comparison<unknown> {
  // A missing filter must not match every row.
  if (value === undefined) throw new TypeError(`the condition on ${property} is undefined`)
  if (value instanceof Comparison) return value
  return value === null ? IS_NULL : new Comparison('= $', value)
}

/** One condition as SQL. `parameter` is the parameter's number. */
export function conditionText(column: string, { operator, through }: Comparison<unknown>, parameter: number): string {
  const left = through === '' ? column : `${through}(${column})`
  return `${left} ${operator.replace('$', `$${parameter}`)}`
}

export function takesParameter({ operator }: Comparison<unknown>): boolean {
  return operator.includes('$')
}
