import { HOUR, MINUTE } from '../../../core/clock.ts'
import { job, schedule } from '../../../core/job.ts'
import { Id, Nullable, OneOf, Type } from '../../../core/schema.ts'
import { PLAN_NAMES } from '../plans/index.ts'

/** How many subscriptions one run of the schedule hands out. The next run, a minute later, takes others. */
const BATCH = 1_000

/** After so many failures the job ends as failed, and the subscription waits an hour, so that it blocks no other one. */
const ADVANCE_ATTEMPTS = 3

/** Renews one subscription, charges it again, or ends it. */
export const advanceSubscription = job({
  name: 'billing.advance',
  summary: 'Renew a subscription, repeat a failed charge, or end what is not paid',
  queue: 'default',
  data: Type.Object({ userId: Id }),
  attempts: ADVANCE_ATTEMPTS,
  backoff: { firstMs: 5_000, maxMs: HOUR },
  timeoutMs: 2 * MINUTE,
  run: async ({ attempt, billing, data: { userId }, log }) => {
    try {
      await billing.renewals.advance(userId)
    } catch (error) {
      if (attempt.number >= attempt.of) {
        log.error({ error, userId }, 'a subscription could not be advanced')
        await billing.renewals.postpone(userId)
      }
      throw error
    }
  },
})

/** Archives the social accounts that are not kept on a smaller plan, or takes them from the archive on a larger one. */
export const fitAccounts = job({
  name: 'billing.fitAccounts',
  summary: 'Archive the accounts that are not kept on a smaller plan, or take them from the archive',
  queue: 'default',
  data: Type.Object({ userId: Id, plan: OneOf(PLAN_NAMES), kept: Nullable(Type.Array(Id)) }),
  attempts: 20,
  backoff: { firstMs: 1_000, maxMs: HOUR },
  timeoutMs: 2 * MINUTE,
  run: async ({ billing, data: { kept, plan, userId } }) => {
    await billing.fitting.fit(userId, plan, kept)
  },
})

export const advanceDueSubscriptions = schedule({
  name: 'billing.due',
  summary: 'Renew the subscriptions whose paid time ends',
  cron: '* * * * *',
  run: async ({ effect, jobs, plans }) => {
    await effect(async (tx) => {
      for (const { userId } of await plans.due(tx, BATCH)) {
        await jobs.add(tx, advanceSubscription, { userId }, { key: userId })
      }
    })
  },
})
