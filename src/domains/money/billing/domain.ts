import { domain } from '../../../domain.ts'
import { composeBilling } from './compose.ts'
import * as couponOperations from './coupon-operations.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import * as purchaseOperations from './purchase-operations.ts'
import { billingEntities } from './tables.ts'
import { personal } from './personal-data.ts'

export const billing = domain({
  personal,
  name: 'billing',
  about: 'Subscriptions: terms, cycles, extra accounts, coupons and usage',
  operations: { ...operations, ...purchaseOperations, ...couponOperations },
  notifications,
  jobs,
  entities: billingEntities,
  compose: composeBilling,
})
