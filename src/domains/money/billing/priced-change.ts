import type { Tax } from '../invoices/index.ts'
import type { Money } from '../plans/index.ts'
import { allocate, sum } from '../ledger/index.ts'
import { belowSmallest } from './descriptions.ts'
import type { NewCycle, PlannedChange } from './planned-change.ts'
import { quoteOf, type CycleDiscount, type Quote } from './quote.ts'

/** A coupon that a change uses. */
export interface AppliedCoupon {
  readonly id: string
  readonly code: string
  /** What it takes off each cycle. A list gives it for each of the cycles that are changed. */
  readonly off: CycleDiscount | readonly CycleDiscount[]
  /** How many cycles it discounts from here on. Null for all. */
  readonly cycles: number | null
  /**
   * `new`: the customer has entered it. `running`: it was entered before and covers further cycles. `carried`: it
   * discounts the cycle that is changed, and goes on doing so.
   */
  readonly use: 'new' | 'running' | 'carried'
}

/** A cycle of a change, with the part of the price that was paid for it. */
export interface PricedCycle extends NewCycle {
  /** What is paid for it, without tax and after the discount. */
  readonly net: number
  /** What the coupon has taken off its price. */
  readonly discount: number
  readonly couponId: string | null
}

/** A change of a subscription and what it costs. Plain JSON: it is kept with the payment, whose settlement applies it. */
export interface PricedChange extends Omit<PlannedChange, 'items' | 'cycles'> {
  readonly cycles: readonly PricedCycle[]
  readonly quote: Quote
  readonly coupon: (Pick<AppliedCoupon, 'id' | 'code' | 'use'> & { readonly cyclesLeft: number | null }) | null
}

export interface Terms {
  readonly coupon: AppliedCoupon | undefined
  readonly currency: Money['currency']
  /** The taxes on a net amount, for the buyer and the time of the quote. */
  readonly taxesOn: (net: number) => readonly Tax[]
}

/** Calculates the price of a change. Previews and charges both end here. */
export function priceOf(
  { cycles, items, ...change }: PlannedChange,
  { coupon, currency, taxesOn }: Terms,
): PricedChange {
  const off = coupon === undefined ? [] : offOf(coupon, cycles.length)
  const quote = quoteOf({
    currency,
    items,
    coupon: coupon && { code: coupon.code, off },
    taxesOn,
  })
  const prices = cycles.map((_, cycle) =>
    sum(items.map((item, index) => (item.cycle === cycle ? (quote.lines[index]?.amount ?? 0) : 0))),
  )
  const weights = prices.map((price, cycle) => discountWeight(off[cycle], price))
  const granted = quote.discount > 0 && sum(weights) > 0 ? allocate(quote.discount, weights) : []
  return {
    ...change,
    quote,
    coupon: coupon === undefined ? null : usedOf(coupon, off.length),
    cycles: cycles.map((cycle, index) => {
      const discount = granted[index] ?? 0
      return {
        ...cycle,
        net: Math.max(0, (prices[index] ?? 0) - discount),
        discount,
        couponId: index < off.length ? (coupon?.id ?? null) : null,
      }
    }),
  }
}

/** The same change without a price. A line of its quote says why. */
export function waived({ cycles, quote, ...change }: PricedChange): PricedChange {
  const line = { kind: 'discount' as const, ...belowSmallest(), amount: -quote.net }
  return {
    ...change,
    quote: {
      ...quote,
      lines: [...quote.lines, line],
      discount: quote.discount + quote.net,
      net: 0,
      taxes: [],
      tax: 0,
      total: 0,
    },
    cycles: cycles.map((cycle) => ({ ...cycle, net: 0, discount: cycle.discount + cycle.net })),
  }
}

/** What a coupon takes off each of the cycles that it covers. */
function offOf({ cycles, off }: AppliedCoupon, count: number): readonly CycleDiscount[] {
  const covered = Math.min(cycles ?? count, count)
  return 'length' in off ? off.slice(0, covered) : Array.from({ length: covered }, () => off)
}

/** The share of a cycle in the discount of the quote, unrounded: a small discount is less than a unit in each cycle. */
function discountWeight(off: CycleDiscount | undefined, price: number): number {
  if (off === undefined) return 0
  return 'amount' in off ? Math.min(off.amount, price) * 10_000 : price * off.basisPoints
}

function usedOf({ code, cycles, id, use }: AppliedCoupon, covered: number): PricedChange['coupon'] {
  const left = use === 'carried' ? cycles : cycles === null ? null : cycles - covered
  return { id, code, use, cyclesLeft: left }
}
