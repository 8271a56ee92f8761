/** Decimal numbers as text, and exact integers of the smallest unit. Nothing here uses floating-point arithmetic. */

/** A fraction of two integers. */
export interface Ratio {
  readonly numerator: bigint
  readonly denominator: bigint
}

const DECIMAL = /^(\d{1,30})(?:\.(\d{1,30}))?$/

/** A positive decimal number as a fraction. Undefined for other text. */
export function ratioOf(text: string): Ratio | undefined {
  const [, whole, fraction = ''] = DECIMAL.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  const numerator = BigInt(whole + fraction)
  return numerator > 0n ? { numerator, denominator: 10n ** BigInt(fraction.length) } : undefined
}

/** `0.5` of a coin with 8 digits is 50000000 units. @throws RangeError for other text, and for more digits */
export function unitsOf(text: string, decimals: number): bigint {
  const [, whole, fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole === undefined || fraction.length > decimals) throw new RangeError(`${text} is not an amount of coins`)
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** Units as a decimal number of coins, without zeros at the end. */
export function coinsOf(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, '0')
  const cut = digits.length - decimals
  const fraction = digits.slice(cut).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, cut) : `${digits.slice(0, cut)}.${fraction}`
}

/** The quotient, rounded up. Both are positive. */
export function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator
}
