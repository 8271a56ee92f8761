/**
 * The one rounding rule of money. An exact fraction is rounded once, at the last step, to the nearest integer; a half goes
 * to the even neighbor. When a rounded whole is split, the parts are cut to integers and what is left goes to the parts
 * with the largest remainders, so that the parts add up to the whole.
 *
 * Amounts are integers in minor units. Nothing here uses floating-point arithmetic.
 */

/**
 * `numerator / denominator`, rounded half to even.
 * @throws RangeError if the denominator is zero
 */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  if (denominator === 0n) throw new RangeError('an amount cannot be divided by zero')
  const [top, bottom] = denominator < 0n ? [-numerator, -denominator] : [numerator, denominator]
  const floor = floorDivide(top, bottom)
  const twice = (top - floor * bottom) * 2n
  if (twice === bottom) return floor % 2n === 0n ? floor : floor + 1n
  return twice > bottom ? floor + 1n : floor
}

/**
 * `amount × numerator / denominator`, rounded half to even. A rate of 19 % is `scaled(net, 1_900, 10_000)`.
 * @throws RangeError if an argument or the result is not a safe integer, or the denominator is zero
 */
export function scaled(amount: number, numerator: number, denominator: number): number {
  return safe(divideHalfEven(integer(amount) * integer(numerator), integer(denominator)))
}

/**
 * Splits a whole in proportion to weights. The parts are integers and add up to the whole. What the cut to integers
 * leaves goes to the largest remainders, and among equal ones to the first. A negative whole is split like the positive
 * one.
 * @throws RangeError if an argument is not a safe integer, a weight is negative, or all weights are zero
 */
export function allocate(whole: number, weights: readonly number[]): number[] {
  const total = weights.map(integer).reduce((sum, weight) => sum + weight, 0n)
  if (weights.some((weight) => weight < 0)) throw new RangeError('a weight is negative')
  if (total === 0n) throw new RangeError('there is no weight to split an amount by')
  const sign = whole < 0 ? -1n : 1n
  const size = integer(whole) * sign
  const shares = weights.map((weight) => size * BigInt(weight))
  return byLargestRemainder(shares, total, size).map((part) => safe(part * sign))
}

/**
 * Rounds fractions with one positive denominator to integers that add up to their rounded sum. Each is rounded down, and
 * what is missing goes to the largest remainders, and among equal ones to the first.
 * @throws RangeError if a result is not a safe integer
 */
export function apportion(numerators: readonly bigint[], denominator: bigint): number[] {
  if (denominator <= 0n) throw new RangeError('the denominator is not positive')
  const total = numerators.reduce((before, numerator) => before + numerator, 0n)
  return byLargestRemainder(numerators, denominator, divideHalfEven(total, denominator)).map(safe)
}

/** Rounds each fraction down, and adds one to those with the largest remainders until they add up to `whole`. */
function byLargestRemainder(numerators: readonly bigint[], denominator: bigint, whole: bigint): bigint[] {
  const parts = numerators.map((numerator, index) => {
    const part = floorDivide(numerator, denominator)
    return { index, part, remainder: numerator - part * denominator }
  })
  const left = whole - parts.reduce((total, { part }) => total + part, 0n)
  const byRemainder = parts.toSorted((a, b) => {
    if (a.remainder === b.remainder) return a.index - b.index
    return a.remainder > b.remainder ? -1 : 1
  })
  for (const entry of byRemainder.slice(0, Number(left))) entry.part += 1n
  return parts.map(({ part }) => part)
}

/** The sum of amounts. @throws RangeError if it or one of them is not a safe integer */
export function sum(amounts: readonly number[]): number {
  return safe(amounts.reduce((total, amount) => total + integer(amount), 0n))
}

function floorDivide(top: bigint, bottom: bigint): bigint {
  const cut = top / bottom
  return top < 0n && cut * bottom !== top ? cut - 1n : cut
}

function integer(value: number): bigint {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a safe integer`)
  return BigInt(value)
}

function safe(value: bigint): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is not a safe integer`)
  // Negative zero would differ from zero in comparisons of tests and of JSON.
  return number === 0 ? 0 : number
}
