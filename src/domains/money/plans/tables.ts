import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User, type PlanName, type SubscriptionData } from '../../identity/users/index.ts'
import type { Term } from './plans.ts'

/**
 * The plan that a user is on. Its months are counted from `anchorAt`. The row is also the lock of everything that
 * changes what a user pays for; the domain `billing` writes all but `plan`.
 */
const Subscription = defineEntity({
  name: 'Subscription',
  tableName: 'subscriptions',
  indexes: [
    {
      name: 'subscriptions_by_due',
      expression: 'create index subscriptions_by_due on subscriptions (due_at) where due_at is not null',
    },
  ],
  checks: [
    { name: 'subscriptions_extra_accounts', expression: 'extra_accounts >= 0' },
    { name: 'subscriptions_extra_removal', expression: 'extra_removal >= 0 and extra_removal <= extra_accounts' },
  ],
  properties: {
    userId: references(User, { name: 'subscriptions_user_id_fkey', onDelete: 'cascade' }).primary(),
    plan: p.text().$type<PlanName>(),
    status: p.text().$type<SubscriptionData['status']>(),
    anchorAt: timestamp(),
    /** The term of the next cycle. */
    term: p.text().$type<Term>().default('month'),
    /** What is paid or tried: the current cycle and those that were paid ahead. Null on a plan that costs nothing. */
    periodStart: timestamp().nullable(),
    periodEnd: timestamp().nullable(),
    /** The end of the free trial. A user has one. */
    trialEndsAt: timestamp().nullable(),
    /** When a trial that is about to end is mentioned in a mail. Null once it was. */
    remindAt: timestamp().nullable(),
    /** When the service must act: renew, charge again, or end. */
    dueAt: timestamp().nullable(),
    /** The first failed charge of the cycle that is due. */
    failedSince: timestamp().nullable(),
    /** A smaller plan that begins with the next cycle, and the social accounts that the user wants to keep on it. */
    nextPlan: p.text().$type<PlanName>().nullable(),
    keepAccountIds: p.array().columnType('uuid[]').nullable(),
    /** Social accounts that were bought in addition to those of the plan. */
    extraAccounts: p.integer().default(0),
    /** How many of them end with the cycle. */
    extraRemoval: p.integer().default(0),
    /** Raised by every change of what is paid for. A payment for an older version no longer fits. */
    version: p.integer().default(1),
    /** Failed charges, so that the next charge is a new payment. */
    failedCharges: p.integer().default(0),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** What a user has used of a limit in a calendar month (UTC). */
const PlanUse = defineEntity({
  name: 'PlanUse',
  tableName: 'plan_uses',
  properties: {
    userId: references(User, { name: 'plan_uses_user_id_fkey', onDelete: 'cascade' }).primary(),
    name: p.text().primary(),
    /** Its first day. */
    month: p.date().primary(),
    used: p.integer(),
  },
})

export const planUses = table(PlanUse)
export const subscriptions = table(Subscription)
export type SubscriptionRow = Row<typeof Subscription>

export const planEntities = [Subscription, PlanUse]
