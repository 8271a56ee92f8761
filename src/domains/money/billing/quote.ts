import type { Money } from '../plans/index.ts'
import type { Tax } from '../invoices/index.ts'
import { apportion, sum } from '../ledger/index.ts'
import type { Period, Share } from './cycles.ts'
import { couponOff, type Described } from './descriptions.ts'

/** Something that is bought, or given back because it is replaced. Amounts are net, in minor units. */
export interface QuoteItem extends Described {
  readonly kind: 'plan' | 'extra_accounts' | 'credits' | 'unused'
  /** The price of the whole time; negative for what is given back. */
  readonly amount: number
  /** The part of the time that `amount` is for; the whole if absent. */
  readonly share?: Share
  /** The cycle of the change that it is bought for, from 0. What is given back belongs to none. */
  readonly cycle?: number
  /** The time that it is for, if it is for no cycle. */
  readonly period?: Period
}

/**
 * A coupon as it applies to one charge. It discounts cycles, never the charge as a whole: what it takes off a cycle is at
 * most what that cycle costs.
 */
export interface QuoteCoupon {
  readonly code: string
  /** What is taken off each of the first cycles: hundredths of a percent, or a net amount in minor units. */
  readonly off: readonly CycleDiscount[]
}

export type CycleDiscount = { readonly basisPoints: number } | { readonly amount: number }

export interface QuoteLine extends Described, Pick<QuoteItem, 'cycle' | 'period'> {
  readonly kind: QuoteItem['kind'] | 'discount'
  readonly amount: number
  /** Of a discount: how many of the first cycles it discounts. */
  readonly covers?: number
}

/**
 * What a change of a subscription costs. Previews show it, and charges charge it. `lines` add up to `net`, including the
 * discount, and `net` and the taxes add up to `total`.
 */
export interface Quote {
  readonly currency: string
  readonly lines: QuoteLine[]
  /** What the coupon takes off, as a positive amount. It is one of the lines, too. */
  readonly discount: number
  readonly net: number
  readonly taxes: Tax[]
  readonly tax: number
  readonly total: number
}

export interface QuoteInput {
  readonly currency: Money['currency']
  readonly items: readonly QuoteItem[]
  readonly coupon?: QuoteCoupon | undefined
  /** The taxes on a net amount, for the buyer and the time of the quote. */
  readonly taxesOn: (net: number) => readonly Tax[]
}

/**
 * Calculates a quote. It is the only place that calculates what a customer pays. Everything is exact until the last
 * step, which rounds by the rule of the ledger. What is given back never exceeds what is bought, and a discount never
 * exceeds what is left to pay, so a total is never negative.
 */
export function quoteOf({ coupon, currency, items, taxesOn }: QuoteInput): Quote {
  const denominator = commonDenominator(items)
  const values = capped(items.map((item) => valueOf(item, denominator)))
  const off = coupon === undefined ? 0n : discountOf(coupon, items, values, denominator)
  const amounts = apportion([...values, -off], denominator)
  const discount = 0 - (amounts.at(-1) ?? 0)
  const lines: QuoteLine[] = items.map(({ amount: _amount, share: _share, ...item }, index) => {
    return { ...item, amount: amounts[index] ?? 0 }
  })
  if (coupon !== undefined && discount > 0) {
    lines.push({ kind: 'discount', ...describeCoupon(coupon), amount: -discount, covers: coupon.off.length })
  }
  const net = sum(amounts)
  const taxes = [...taxesOn(net)]
  const tax = sum(taxes.map(({ amount }) => amount))
  return { currency, lines, discount, net, taxes, tax, total: net + tax }
}

/** Basis points of a discount. */
const WHOLE = 10_000n

/** A denominator by which all values and their discount are integers. */
function commonDenominator(items: readonly QuoteItem[]): bigint {
  const lengths = new Set(items.flatMap(({ share }) => (share === undefined ? [] : [BigInt(share.of)])))
  return [...lengths].reduce((product, length) => product * length, WHOLE)
}

function valueOf({ amount, share }: QuoteItem, denominator: bigint): bigint {
  const whole = BigInt(amount) * denominator
  return share === undefined ? whole : (whole / BigInt(share.of)) * BigInt(share.left)
}

/** Reduces what is given back to what is bought. */
function capped(values: readonly bigint[]): bigint[] {
  let room = boughtOf(values)
  return values.map((value) => {
    if (value >= 0n) return value
    const given = smaller(-value, room)
    room -= given
    return -given
  })
}

/** What a coupon takes off all cycles together. A discount never exceeds what is left to pay. */
function discountOf(
  { off }: QuoteCoupon,
  items: readonly QuoteItem[],
  values: readonly bigint[],
  denominator: bigint,
): bigint {
  const left = values.reduce((total, value) => total + value, 0n)
  const wanted = off.map((discount, cycle) => {
    const bought = boughtOf(values.filter((_, index) => items[index]?.cycle === cycle))
    if ('amount' in discount) return smaller(BigInt(discount.amount) * denominator, bought)
    return (bought / WHOLE) * BigInt(discount.basisPoints)
  })
  return smaller(
    wanted.reduce((total, value) => total + value, 0n),
    left,
  )
}

function boughtOf(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => (value > 0n ? total + value : total), 0n)
}

function describeCoupon({ code, off }: QuoteCoupon): Described {
  const [first] = off
  return couponOff(code, first === undefined || 'amount' in first ? null : first.basisPoints / 100)
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}
