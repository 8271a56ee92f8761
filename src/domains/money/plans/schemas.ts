import { named, OneOf, States, Timestamp, Type } from '../../../core/schema.ts'
import { LIMITS, PLAN_NAMES, type LimitName } from './plans.ts'

const Money = named(
  'Money',
  Type.Object({
    amount: Type.Integer({ minimum: 0, description: 'Minor units, such as cents' }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217' }),
  }),
)

const Limits = named(
  'PlanLimits',
  Type.Object(
    Object.fromEntries(
      Object.entries(LIMITS).map(([name, description]) => [name, Type.Integer({ minimum: 0, description })]),
    ) as Record<LimitName, ReturnType<typeof Type.Integer>>,
  ),
)

export const PlanView = named(
  'Plan',
  Type.Object({
    name: OneOf(PLAN_NAMES),
    title: Type.String(),
    summary: Type.String(),
    prices: Type.Object({ month: Money, quarter: Money, year: Money }, { description: 'The price of a whole term' }),
    limits: Limits,
  }),
)

export const SubscriptionSummary = named(
  'SubscriptionSummary',
  Type.Object({
    plan: OneOf(PLAN_NAMES),
    status: States('SubscriptionStatus', 'How a subscription is doing', {
      active: 'Paid for, or free',
      past_due: 'A payment has failed and is tried again',
      cancelled: 'Ends at `endDate` and is not renewed',
    }),
    creditsRemaining: Type.Integer({ description: 'AI credits left in this cycle' }),
    creditsPerMonth: Type.Integer(),
    startDate: Timestamp,
    endDate: Timestamp,
  }),
)
