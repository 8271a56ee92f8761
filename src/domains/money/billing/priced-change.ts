import type { Tax } from '../invoices/index.ts'
import type { Money } from '../plans/index.ts'
import { allocate, sum } from '../ledger/index.ts'
import type { NewCycle, PlannedChange } from './planned-change.ts'
import { quoteOf, type Quote, type QuoteCoupon } from './quote.ts'

/** A coupon that a change uses. */
export interface AppliedCoupon {
  readonly id: string
  readonly code: string
  /** What it takes off: hundredths of a percent, or an amount for each cycle. */
  readonly off: QuoteCoupon['off']
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
  /**
   * The price without tax, less a percentage discount. A fixed discount does not reduce it: when the cycle is replaced,
   * the customer keeps the rest of that discount.
   */
  readonly net: number
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
  const covered = coupon === undefined ? 0 : Math.min(coupon.cycles ?? cycles.length, cycles.length)
  const quote = quoteOf({
    currency,
    items: items.map(({ cycle = 0, ...item }) => ({ ...item, isFullPrice: cycle >= covered })),
    coupon: coupon && { code: coupon.code, off: offOf(coupon, covered) },
    taxesOn,
  })
  const paid = cycles.map((_, cycle) =>
    sum(items.map((item, index) => (item.cycle === cycle ? (quote.lines[index]?.amount ?? 0) : 0))),
  )
  const discounted = paid.map((amount, cycle) => (cycle < covered ? amount : 0))
  const isPercentage = coupon !== undefined && 'basisPoints' in coupon.off
  const discounts = isPercentage && sum(discounted) > 0 ? allocate(quote.discount, discounted) : []
  return {
    ...change,
    quote,
    coupon: coupon === undefined ? null : usedOf(coupon, covered),
    cycles: cycles.map((cycle, index) => ({
      ...cycle,
      net: Math.max(0, (paid[index] ?? 0) - (discounts[index] ?? 0)),
      couponId: index < covered ? (coupon?.id ?? null) : null,
    })),
  }
}

/** A percentage applies to every cycle anyway. A fixed amount is granted once for each cycle. */
function offOf({ off }: AppliedCoupon, covered: number): QuoteCoupon['off'] {
  return 'amount' in off ? { amount: off.amount * covered } : off
}

function usedOf({ code, cycles, id, use }: AppliedCoupon, covered: number): PricedChange['coupon'] {
  const left = use === 'carried' ? cycles : cycles === null ? null : cycles - covered
  return { id, code, use, cyclesLeft: left }
}
