import { defineEntity, p } from '@mikro-orm/postgresql'
import { User } from '../../identity/users/index.ts'
import type { PlanName } from './plans.ts'

const time = () => p.datetime().columnType('timestamptz')

/** Which plan a user is on. Months are counted from `anchorAt`. */
const Subscription = defineEntity({
  name: 'Subscription',
  tableName: 'subscriptions',
  properties: {
    user: p
      .oneToOne(User)
      .owner()
      .primary()
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('subscriptions_user_id_fkey'),
    plan: p.text().$type<PlanName>(),
    status: p.text(),
    anchorAt: time(),
    creditsUsed: p.integer().default(0),
    creditsSince: time(),
    createdAt: time(),
    updatedAt: time(),
  },
})

export const planEntities = [Subscription]
