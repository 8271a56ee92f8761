import { defineError } from '../../../core/error.ts'

export const InvoiceUnavailable = defineError({
  code: 'invoice_unavailable',
  status: 409,
  message: 'There is no invoice for this transaction.',
  cause:
    'The transaction has not succeeded, or it has only added money to the wallet. Invoices are issued when something is paid.',
  fix: 'Wait until the transaction has succeeded.',
})
