import { assert, constantFrom, integer, oneof, option, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { PLAN_NAMES, PLANS, TERMS } from '../plans/index.ts'
import { quoteTaxes } from '../invoices/index.ts'
import { scaled } from '../ledger/index.ts'
import { cycleFrom } from './cycles.ts'
import { planRenewal, planUpgrade, type PaidCycle, type PlannedChange, type Standing } from './planned-change.ts'
import { priceOf, type AppliedCoupon } from './priced-change.ts'
import { fullPlan } from './descriptions.ts'
import { quoteOf, type QuoteItem } from './quote.ts'

const at = (text: string) => Date.parse(`${text}Z`)
const noTax = () => []
const vat = (basisPoints: number) => (net: number) =>
  quoteTaxes({ treatment: 'standard', country: 'DE', basisPoints, vatNumber: null }, net)
const PRO = fullPlan('pro', 'month')
const STARTER = fullPlan('starter', 'month')
const plan = (amount: number, share?: QuoteItem['share']): QuoteItem => ({
  kind: 'plan',
  ...PRO,
  amount,
  ...(share && { share }),
  cycle: 0,
})

test('half of a cycle costs half, and unused time counts against it', () => {
  const share = { left: 15, of: 30 }
  const items: QuoteItem[] = [plan(4_900, share), { kind: 'unused', ...STARTER, amount: -1_900, share }]
  expect(quoteOf({ currency: 'USD', items, taxesOn: vat(1_900) })).toEqual({
    currency: 'USD',
    lines: [
      { kind: 'plan', ...PRO, amount: 2_450, cycle: 0 },
      { kind: 'unused', ...STARTER, amount: -950 },
    ],
    discount: 0,
    net: 1_500,
    taxes: [expect.objectContaining({ description: 'VAT 19 % (Germany)', amount: 285 })],
    tax: 285,
    total: 1_785,
  })
})

test('the sum is rounded half to even, and the lines by largest remainder', () => {
  const half = { left: 1, of: 2 }
  const lines = (amounts: number[]) =>
    quoteOf({ currency: 'USD', items: amounts.map((amount) => plan(amount, half)), taxesOn: noTax }).lines.map(
      ({ amount }) => amount,
    )
  expect(lines([5])).toEqual([2])
  expect(lines([7])).toEqual([4])
  expect(lines([5, 5])).toEqual([3, 2])
  expect(lines([5, 5, 5])).toEqual([3, 3, 2])
})

test('a discount is taken off what is bought, never more than it costs, and never below zero', () => {
  const items: QuoteItem[] = [plan(4_900), { kind: 'unused', ...STARTER, amount: -1_900 }]
  const priced = (off: { basisPoints: number } | { amount: number }) => {
    const { discount, net } = quoteOf({ currency: 'USD', items, coupon: { code: 'A', off: [off] }, taxesOn: noTax })
    return { discount, net }
  }
  expect(priced({ basisPoints: 2_000 })).toEqual({ discount: 980, net: 2_020 })
  expect(priced({ basisPoints: 10_000 })).toEqual({ discount: 3_000, net: 0 })
  expect(priced({ amount: 500 })).toEqual({ discount: 500, net: 2_500 })
  expect(priced({ amount: 9_000 })).toEqual({ discount: 3_000, net: 0 })
})

test('what is given back never exceeds what is bought', () => {
  const items: QuoteItem[] = [plan(1_000), { kind: 'unused', ...STARTER, amount: -19_000 }]
  expect(quoteOf({ currency: 'USD', items, taxesOn: vat(2_000) })).toMatchObject({ net: 0, tax: 0, total: 0 })
})

const paidPlans = constantFrom(...PLAN_NAMES.filter((name) => name !== 'free'))
const terms = constantFrom(...TERMS)
const coupons = record({
  off: oneof(
    record({ basisPoints: integer({ min: 1, max: 10_000 }) }),
    record({ amount: integer({ min: 1, max: 30_000 }) }),
  ),
  cycles: option(integer({ min: 1, max: 3 })),
}).map((fields): AppliedCoupon => ({ id: 'one', code: 'CODE', use: 'new', ...fields }))
const rates = integer({ min: 0, max: 2_700 })

/** A subscription with paid cycles, at a moment in the first of them. */
const standings = record({
  anchor: integer({ min: at('2024-01-01T00:00'), max: at('2027-12-31T00:00') }),
  plan: paidPlans,
  term: terms,
  extraAccounts: integer({ min: 0, max: 20 }),
  ahead: integer({ min: 1, max: 3 }),
  discount: integer({ min: 0, max: 10_000 }),
  moment: integer({ min: 0, max: 999_999 }),
}).map(({ ahead, anchor, discount, moment, ...bought }): { now: number; standing: Standing } => {
  const price =
    PLANS[bought.plan].prices[bought.term].amount +
    (PLANS[bought.plan].extraAccountPrices?.[bought.term].amount ?? 0) * bought.extraAccounts
  const paid: PaidCycle[] = []
  for (let start = anchor; paid.length < ahead; start = paid.at(-1)?.end ?? anchor) {
    const period = cycleFrom(anchor, start, bought.term)
    const net = scaled(price, 10_000 - discount, 10_000)
    paid.push({ id: String(paid.length), ...bought, ...period, net, discount: price - net, couponId: null })
  }
  const first = paid[0] as PaidCycle
  return {
    now: first.start + Math.floor(((first.end - first.start) * moment) / 1_000_000),
    standing: {
      status: 'active',
      ...bought,
      anchor,
      periodEnd: paid.at(-1)?.end ?? null,
      isTrial: false,
      extraRemoval: 0,
      nextPlan: null,
      paid,
    },
  }
})

const requests = record({ planName: paidPlans, term: terms, more: integer({ min: 0, max: 5 }) })

function planned(
  standing: Standing,
  request: Parameters<typeof planUpgrade>[1],
  now: number,
): PlannedChange | undefined {
  try {
    return planUpgrade(standing, request, now)
  } catch {
    return undefined
  }
}

test('the parts of every quote add up, and no total is negative', () => {
  let upgrades = 0
  assert(
    property(standings, requests, option(coupons), rates, ({ now, standing }, { more, ...request }, coupon, rate) => {
      const change = planned(standing, { ...request, extraAccounts: standing.extraAccounts + more }, now)
      if (change === undefined) return
      upgrades += 1
      const priced = priceOf(change, { coupon: coupon ?? undefined, currency: 'USD', taxesOn: vat(rate) })
      const { lines, net, tax, taxes, total } = priced.quote
      const sum = (amounts: readonly { readonly amount: number }[]) => amounts.reduce((all, one) => all + one.amount, 0)
      expect(sum(lines)).toBe(net)
      expect(sum(taxes)).toBe(tax)
      expect(net + tax).toBe(total)
      expect(net).toBeGreaterThanOrEqual(0)
      for (const { amount, kind } of lines) {
        expect(Number.isSafeInteger(amount)).toBe(true)
        expect(kind === 'unused' || kind === 'discount' ? amount <= 0 : amount >= 0).toBe(true)
      }
      // The same change has the same price, so the charge equals the preview.
      expect(priceOf(change, { coupon: coupon ?? undefined, currency: 'USD', taxesOn: vat(rate) })).toEqual(priced)
    }),
    { numRuns: 500 },
  )
  expect(upgrades).toBeGreaterThan(50)
})

test('two upgrades, one after the other at the same moment, cost what one costs', () => {
  assert(
    property(standings, ({ now, standing }) => {
      if (standing.plan !== 'starter') return
      const term = standing.paid[0]?.term
      const terms_ = { coupon: undefined, currency: 'USD', taxesOn: noTax }
      const direct = priceOf(planUpgrade(standing, { planName: 'business', term }, now), terms_)
      const first = priceOf(planUpgrade(standing, { planName: 'pro', term }, now), terms_)
      const between: Standing = {
        ...standing,
        plan: 'pro',
        paid: first.cycles.map(
          ({ couponId, discount, extraAccounts, net, period, plan: name, term: length }, index) => ({
            id: `new ${index}`,
            plan: name,
            term: length,
            extraAccounts,
            net,
            discount,
            couponId,
            start: period?.start ?? 0,
            end: period?.end ?? 0,
          }),
        ),
      }
      const second = priceOf(planUpgrade(between, { planName: 'business', term }, now), terms_)
      // The three sums and the lines between them are rounded.
      const off = first.quote.net + second.quote.net - direct.quote.net
      expect(Math.abs(off)).toBeLessThanOrEqual(standing.paid.length + 2)
    }),
  )
})

test('an upgrade in the last second of a cycle costs nothing, and in the first one the difference', () => {
  const start = at('2026-03-01T00:00')
  const cycle = cycleFrom(start, start, 'month')
  const bought = { plan: 'starter', term: 'month', extraAccounts: 0, net: 1_900, discount: 0, couponId: null } as const
  const paid: PaidCycle = { id: 'a', ...bought, ...cycle }
  const standing: Standing = {
    status: 'active',
    plan: 'starter',
    term: 'month',
    anchor: start,
    periodEnd: cycle.end,
    isTrial: false,
    extraAccounts: 0,
    extraRemoval: 0,
    nextPlan: null,
    paid: [paid],
  }
  const total = (now: number) =>
    priceOf(planUpgrade(standing, { planName: 'pro' }, now), { coupon: undefined, currency: 'USD', taxesOn: noTax })
      .quote.total
  expect(total(cycle.end - 1)).toBe(0)
  expect(total(start)).toBe(3_000)
})

test('a renewal costs the price of its cycles, and a coupon discounts as many as it covers', () => {
  assert(
    property(standings, integer({ min: 1, max: 4 }), coupons, ({ now, standing }, count, coupon) => {
      const change = planRenewal(standing, count, now)
      const { cycles, quote } = priceOf(change, { coupon, currency: 'USD', taxesOn: noTax })
      expect(cycles).toHaveLength(count)
      const full = quote.net + quote.discount
      const covered = Math.min(coupon.cycles ?? count, count)
      expect(full % count).toBe(0)
      const price = full / count
      const off = coupon.off as { readonly amount: number } | { readonly basisPoints: number }
      const most = 'amount' in off ? Math.min(off.amount, price) * covered : price * covered
      expect(quote.discount).toBeLessThanOrEqual(most)
      // What counts when a cycle is replaced is what was paid for it, also with an amount off.
      expect(cycles.reduce((sum, { net }) => sum + net, 0)).toBe(quote.net)
      for (const { net } of cycles.slice(covered)) expect(net).toBe(price)
    }),
  )
})

test('an amount off one cycle leaves the other eleven at their price', () => {
  const start = at('2026-03-01T00:00')
  const standing: Standing = {
    status: 'active',
    plan: 'starter',
    term: 'month',
    anchor: start,
    periodEnd: start,
    isTrial: false,
    extraAccounts: 0,
    extraRemoval: 0,
    nextPlan: null,
    paid: [],
  }
  const coupon: AppliedCoupon = { id: 'one', code: 'LARGE', off: { amount: 100_000 }, cycles: 1, use: 'new' }
  const { cycles, quote } = priceOf(planRenewal(standing, 12, start), { coupon, currency: 'USD', taxesOn: noTax })
  expect([quote.discount, quote.total]).toEqual([1_900, 11 * 1_900])
  expect(cycles.map(({ net }) => net)).toEqual([0, ...Array.from({ length: 11 }, () => 1_900)])
})
