import { domain } from '../../../domain.ts'
import { composePayments } from './compose.ts'

export const payments = domain({ name: 'payments', compose: composePayments })
