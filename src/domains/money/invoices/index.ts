/** What other domains use of invoices. */

export type { InvoiceLine, LineText, PaidBy } from './content.ts'
export type { Invoices } from './invoices.ts'
export type { BillingProfiles } from './profile.ts'
export { PROFILE_FIELDS } from './schemas.ts'
export { lastDay } from './service-period.ts'
export { quoteTaxes, type Tax } from './tax/tax.ts'
