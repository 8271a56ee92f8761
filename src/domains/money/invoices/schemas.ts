import { Id, Input, Nullable, OneOf, States, Text, Timestamp, Type, named, type Static } from '../../../core/schema.ts'

const KINDS = ['person', 'business'] as const
const COUNTRY = { pattern: '^[A-Z]{2}$', maxLength: 2, description: 'ISO 3166-1 alpha-2' }

const PROFILE = {
  kind: OneOf(KINDS),
  name: Text(0, 200, { description: 'Of the person or the business' }),
  street: Text(0, 200),
  postalCode: Text(0, 20),
  city: Text(0, 100),
  country: Nullable(Type.String(COUNTRY)),
}

/** Fields of a billing profile that a purchase can need. */
export const PROFILE_FIELDS = ['country', 'name', 'street', 'city'] as const
export type ProfileField = (typeof PROFILE_FIELDS)[number]

export const ProfileBody = Input({
  ...PROFILE,
  vatNumber: Nullable(
    Text(0, 30, { description: 'Of a business. In the European Union, its form and check digits must be right.' }),
  ),
})
export type ProfileInput = Static<typeof ProfileBody>

export const BillingProfileView = named(
  'BillingProfile',
  Type.Object({ ...PROFILE, vatNumber: Nullable(Type.String()), version: Type.Integer({ minimum: 0 }) }),
)
export type BillingProfileData = Static<typeof BillingProfileView>

export const InvoiceView = named(
  'Invoice',
  Type.Object({
    _id: Id,
    invoiceNumber: Type.String({ description: 'Without gaps in its series' }),
    kind: States('InvoiceKind', 'What a document of billing is', {
      invoice: 'An invoice for a payment',
      credit_note: 'A correction of an invoice, for a refund',
    }),
    transactionId: Id,
    invoiceId: Nullable({ ...Id, description: 'Of a credit note: the invoice' }),
    net: Type.Integer({ description: 'Minor units, without tax' }),
    tax: Type.Integer({ description: 'Minor units' }),
    total: Type.Integer({ description: 'Minor units, with tax' }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217' }),
    startsAt: Nullable({ ...Timestamp, description: 'When the service begins that it is for' }),
    endsAt: Nullable({ ...Timestamp, description: 'When the service ends, exclusive' }),
    createdAt: Timestamp,
  }),
)
export type InvoiceData = Static<typeof InvoiceView>
