import { domain } from '../../../domain.ts'
import * as administration from './administration/operations.ts'
import { composePayments } from './compose.ts'
import * as jobs from './jobs.ts'
import * as methods from './saved-methods/operations.ts'
import * as operations from './operations.ts'
import { paymentEntities } from './tables.ts'
import { personal } from './personal-data.ts'

export const payments = domain({
  personal,
  name: 'payments',
  about: 'Payments, saved payment methods and refunds',
  operations: { ...operations, ...methods, ...administration },
  jobs,
  entities: paymentEntities,
  compose: composePayments,
})
