import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { User } from '../../identity/users/index.ts'
import type { InvoiceContent, InvoiceKind } from './content.ts'

/** Who invoices of a user are for. Issued invoices keep what it was. */
const BillingProfile = defineEntity({
  name: 'BillingProfile',
  tableName: 'billing_profiles',
  properties: {
    userId: references(User, { name: 'billing_profiles_user_id_fkey', onDelete: 'cascade' }).primary(),
    kind: p.text().$type<'person' | 'business'>(),
    name: p.text(),
    street: p.text(),
    city: p.text(),
    postalCode: p.text(),
    country: p.text().nullable(),
    vatNumber: p.text().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** The last number of a series. A trigger counts it when an invoice is inserted. */
const InvoiceSeries = defineEntity({
  name: 'InvoiceSeries',
  tableName: 'invoice_series',
  properties: { series: p.text().primary(), lastNumber: p.integer() },
})

/**
 * An invoice or a credit note. It never changes (a trigger refuses it), and has no foreign key to the user and the payment,
 * because it must be kept longer than they are.
 */
const Invoice = defineEntity({
  name: 'Invoice',
  tableName: 'invoices',
  uniques: [
    { name: 'invoices_number_key', properties: ['series', 'number'] },
    { name: 'invoices_reference_key', properties: ['reference'] },
  ],
  indexes: [
    { name: 'invoices_by_user', properties: ['userId', 'id'] },
    { name: 'invoices_by_payment', properties: ['paymentId'] },
  ],
  checks: [
    { name: 'invoices_total', expression: 'net + tax = total' },
    { name: 'invoices_credited', expression: `(kind = 'credit_note') = (invoice_id is not null)` },
  ],
  properties: {
    id: p.uuid().primary(),
    kind: p.text().$type<InvoiceKind>(),
    series: p.text(),
    /** Without gaps in its series. Set by a trigger. */
    number: p.integer().defaultRaw('0'),
    /** What it is issued for. The same reference is issued once. */
    reference: p.text(),
    userId: p.uuid(),
    paymentId: p.uuid(),
    /** Of a credit note: the invoice. */
    invoiceId: p.uuid().nullable(),
    currency: p.text(),
    net: p.bigint('number'),
    tax: p.bigint('number'),
    total: p.bigint('number'),
    content: p.json<InvoiceContent>(),
    createdAt: timestamp(),
  },
})

export const billingProfiles = table(BillingProfile)
export const invoices = table(Invoice)

export const invoiceEntities = [BillingProfile, InvoiceSeries, Invoice]
