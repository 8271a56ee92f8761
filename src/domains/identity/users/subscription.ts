import { named, OneOf, States, Timestamp, Type, type Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'

/** What a user's profile shows of their subscription. Subscriptions belong to `plans`, which depends on users. */

export const PLAN_NAMES = ['free', 'starter', 'pro', 'business'] as const
export type PlanName = (typeof PLAN_NAMES)[number]

export const SubscriptionStatus = States('SubscriptionStatus', 'State of a subscription', {
  trialing: 'A free trial of a paid plan. The first payment is due at `endDate`',
  active: 'Paid, or on the free plan',
  past_due: 'A payment has failed and will be retried',
  cancelled: 'Ends at `endDate` and will not renew',
  expired: 'The paid plan has ended, and the free plan applies',
})

export const SubscriptionSummary = named(
  'SubscriptionSummary',
  Type.Object({
    plan: OneOf(PLAN_NAMES),
    status: SubscriptionStatus,
    creditsRemaining: Type.Integer({ description: 'AI credits left in the current month' }),
    creditsPerMonth: Type.Integer(),
    startDate: Timestamp,
    endDate: Timestamp,
  }),
)
export type SubscriptionData = Static<typeof SubscriptionSummary>

/** The subscriptions of users. */
export interface Subscriptions {
  /**
   * Puts a new user on a plan.
   * @param sql the transaction that creates the user
   * @param plan the default plan of the installation when absent
   */
  start(sql: Sql, userId: string, plan?: PlanName): Promise<void>
  /** @param sql the transaction that created the user, if it is not committed yet */
  subscriptionOf(userId: string, sql?: Sql): Promise<SubscriptionData>
}
