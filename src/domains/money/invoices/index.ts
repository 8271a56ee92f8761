/** What other domains use of invoices. */

export type { Invoices } from './invoices.ts'
export { quoteTaxes, type Tax } from './tax/tax.ts'
