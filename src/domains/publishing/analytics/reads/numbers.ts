import { ENGAGEMENTS, type FigureName } from '../figures.ts'

/** Derived figures. Each has its one definition here; the schemas describe the same. */

/** The sum of the values that exist. Null if none does. */
export function sumOf(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((one) => one != null)
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0)
}

/** `one` / `two`; null if one of them is missing or the divisor is 0. */
export function ratio(one: number | null | undefined, two: number | null | undefined): number | null {
  if (one == null || two == null || two === 0) return null
  return Math.round((one / two) * 1e6) / 1e6
}

/** Likes, comments, shares and saves. */
export function engagementsOf(valueOf: (figure: FigureName) => number | null | undefined): number | null {
  return sumOf(ENGAGEMENTS.map(valueOf))
}

/** Growth: the change / the value before it. */
export function growth(value: number | null, change: number | null): number | null {
  return value === null || change === null ? null : ratio(change, value - change)
}
