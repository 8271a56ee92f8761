import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { User, type PlanName, type SubscriptionData } from '../../identity/users/index.ts'

/** The plan that a user is on. Its months are counted from `anchorAt`. */
const Subscription = defineEntity({
  name: 'Subscription',
  tableName: 'subscriptions',
  properties: {
    userId: references(User, { name: 'subscriptions_user_id_fkey', onDelete: 'cascade' }).primary(),
    plan: p.text().$type<PlanName>(),
    status: p.text().$type<SubscriptionData['status']>(),
    anchorAt: timestamp(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const subscriptions = table(Subscription)

export const planEntities = [Subscription]
