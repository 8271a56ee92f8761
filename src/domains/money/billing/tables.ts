import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User, type PlanName } from '../../identity/users/index.ts'
import type { Term } from '../plans/index.ts'
import type { Quote } from './quote.ts'

/**
 * A cycle of a subscription: the time that was tried or paid, on one plan. A change in mid-cycle ends the row at that
 * moment (`replacedAt`) and adds another one for the rest.
 */
const BillingCycle = defineEntity({
  name: 'BillingCycle',
  tableName: 'billing_cycles',
  indexes: [
    {
      name: 'billing_cycles_start_key',
      expression:
        'create unique index billing_cycles_start_key on billing_cycles (user_id, starts_at) where replaced_at is null',
    },
    { name: 'billing_cycles_by_user', properties: ['userId', 'id'] },
    {
      name: 'billing_cycles_by_payment',
      expression: 'create index billing_cycles_by_payment on billing_cycles (payment_id) where payment_id is not null',
    },
  ],
  checks: [{ name: 'billing_cycles_length', expression: 'ends_at > starts_at' }],
  properties: {
    id: p.uuid().primary(),
    userId: references(User, { name: 'billing_cycles_user_id_fkey', onDelete: 'cascade' }),
    kind: p.text().$type<'trial' | 'paid'>(),
    plan: p.text().$type<PlanName>(),
    term: p.text().$type<Term>(),
    extraAccounts: p.integer(),
    startsAt: timestamp(),
    /** The end as it was paid, also when the cycle was replaced before. */
    endsAt: timestamp(),
    replacedAt: timestamp().nullable(),
    /** What was paid for this time without tax, after discounts. What is unused of it counts when it is replaced. */
    net: p.bigint('number'),
    /** What the coupon has taken off its price. */
    discount: p.bigint('number'),
    currency: p.text(),
    /** The coupon that discounted it. */
    couponId: p.uuid().nullable(),
    /** The payment. Null for a trial, and when nothing was to pay. */
    paymentId: p.uuid().nullable(),
    /** How the amount of the payment came about. */
    quote: p.json<Quote>().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A discount that customers enter by its code. */
const Coupon = defineEntity({
  name: 'Coupon',
  tableName: 'coupons',
  indexes: [{ name: 'coupons_code_key', expression: 'create unique index coupons_code_key on coupons (lower(code))' }],
  checks: [
    { name: 'coupons_off', expression: '(basis_points is null) <> (amount is null)' },
    { name: 'coupons_basis_points', expression: 'basis_points >= 1 and basis_points <= 10000' },
    { name: 'coupons_amount', expression: 'amount > 0' },
    { name: 'coupons_uses', expression: 'uses >= 0' },
  ],
  properties: {
    id: p.uuid().primary(),
    /** As the administrator wrote it. Customers can write it in any case. */
    code: p.text(),
    /** Hundredths of a percent. */
    basisPoints: p.integer().nullable(),
    amount: p.bigint('number').nullable(),
    currency: p.text(),
    /** How many cycles it discounts. Null for all. */
    cycles: p.integer().nullable(),
    /** Empty for all plans. */
    plans: p
      .array<PlanName>((text) => text as PlanName)
      .columnType('text[]')
      .defaultRaw(`'{}'`),
    maxUses: p.integer().nullable(),
    uses: p.integer().default(0),
    expiresAt: timestamp().nullable(),
    endedAt: timestamp().nullable(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** The use of a coupon by a customer, who can use each coupon once. */
const CouponUse = defineEntity({
  name: 'CouponUse',
  tableName: 'coupon_uses',
  indexes: [{ name: 'coupon_uses_by_user', properties: ['userId', 'couponId'] }],
  properties: {
    couponId: references(Coupon, { name: 'coupon_uses_coupon_id_fkey', onDelete: 'cascade' }).primary(),
    userId: references(User, { name: 'coupon_uses_user_id_fkey', onDelete: 'cascade' }).primary(),
    /** Held for payments that have not succeeded yet, in use, or no longer held because no payment came in time. */
    status: p.text().$type<'held' | 'active' | 'lapsed'>(),
    /** Cycles that it still discounts. Null for all. */
    cyclesLeft: p.integer().nullable(),
    /** The number of open payments that it is held for. */
    holds: p.integer(),
    /** Until when it is held. Null if any number of customers can use it. */
    heldUntil: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/**
 * Who has had a free trial, as digests of mailboxes and cards. It has no foreign key, because it must be kept longer than
 * the account.
 */
const TrialUse = defineEntity({
  name: 'TrialUse',
  tableName: 'trial_uses',
  indexes: [{ name: 'trial_uses_by_user', properties: ['userId', 'digest'] }],
  properties: {
    digest: p.text().primary(),
    userId: p.uuid(),
    kind: p.text().$type<'email' | 'card'>(),
    createdAt: timestamp(),
  },
})

export const trialUses = table(TrialUse)
export const billingCycles = table(BillingCycle)
export const coupons = table(Coupon)
export const couponUses = table(CouponUse)

export type CycleRow = Row<typeof BillingCycle>
export type CouponRow = Row<typeof Coupon>
export type CouponUseRow = Row<typeof CouponUse>

export const billingEntities = [BillingCycle, Coupon, CouponUse, TrialUse]
