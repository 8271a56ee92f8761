/** What other domains use of invoices. */

export type { InvoiceLine, LineText, PaidBy } from './content.ts'
export type { Invoices } from './invoices.ts'
export { documentLanguage, languageOf, type DocumentLanguage } from './language.ts'
export { lineText, taxText } from './line-text.ts'
export { formatDay } from './money-format.ts'
export type { BillingProfiles } from './profile.ts'
export { PROFILE_FIELDS } from './schemas.ts'
export { lastDay, type ServicePeriod } from './service-period.ts'
export { quoteTaxes, type Tax } from './tax/tax.ts'
