import { domain } from '../../../domain.ts'
import { composeInvoices } from './compose.ts'
import * as operations from './operations.ts'
import { invoiceEntities } from './tables.ts'
import { personal } from './personal-data.ts'

export const invoices = domain({
  personal,
  name: 'invoices',
  about: 'Invoices, credit notes, and who they are for',
  operations,
  entities: invoiceEntities,
  compose: composeInvoices,
})
