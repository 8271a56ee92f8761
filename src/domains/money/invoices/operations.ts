import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound, PreconditionFailed } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../core/page.ts'
import { list, ok } from '../../../core/reply.ts'
import { Envelope, Id, Input, ListOf } from '../../../core/schema.ts'
import { InvoiceUnavailable } from './errors.ts'
import { BillingProfileView, InvoiceView, ProfileBody } from './schemas.ts'

export const getBillingProfile = operation({
  route: 'GET /api/billing/profile',
  summary: 'Get who your invoices are for',
  access: 'user',
  returns: { 200: Envelope(BillingProfileView) },
  etag: true,
  example: {},
  handle: async ({ caller, invoices }) => ok('Billing profile', await invoices.profiles.profile(caller)),
})

export const updateBillingProfile = operation({
  route: 'PUT /api/billing/profile',
  summary: 'Change who your invoices are for',
  description:
    'The country, and the VAT number of a business, decide which tax is charged. Invoices that were issued do not change.',
  access: 'user',
  body: ProfileBody,
  returns: { 200: Envelope(BillingProfileView) },
  errors: [PreconditionFailed],
  etag: true,
  example: {
    body: {
      kind: 'business',
      name: 'Analytical Engines GmbH',
      street: 'Unter den Linden 1',
      postalCode: '10117',
      city: 'Berlin',
      country: 'DE',
      vatNumber: 'DE136695976',
    },
  },
  handle: async ({ body, caller, ifMatch, invoices }) =>
    ok('Billing profile changed', await invoices.profiles.save(caller, body, ifMatch)),
})

export const listInvoices = operation({
  route: 'GET /api/billing/invoices',
  summary: 'List your invoices and credit notes',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(InvoiceView) },
  example: { query: { limit: 20 } },
  handle: async ({ caller, invoices, query }) => list('Invoices', await invoices.list.list(caller, pageRequest(query))),
})

const PDF = { 200: { contentType: 'application/pdf' } } as const
const PDF_HEADERS = ['Content-Disposition', 'Cache-Control', 'Content-Language', 'Vary'] as const

export const getInvoicePdf = operation({
  route: 'GET /api/billing/invoices/{id}/pdf',
  summary: 'Download an invoice or a credit note',
  description: 'PDF/A-3 with the same invoice as XML (EN 16931, Factur-X), in English or German.',
  access: 'user',
  path: Input({ id: Id }),
  returns: PDF,
  headers: PDF_HEADERS,
  errors: [NotFound],
  languages: true,
  example: { path: { id: EXAMPLE.invoiceId } },
  handle: async ({ acceptLanguage, caller, invoices, path }) =>
    invoices.pdfs.ofInvoice(caller, path.id, acceptLanguage),
})

export const downloadInvoice = operation({
  route: 'GET /api/users/me/transactions/{id}/invoice',
  summary: 'Download the invoice of a transaction',
  description: 'Only transactions that have succeeded have an invoice. Adding money to the wallet is not invoiced.',
  access: 'user',
  path: Input({ id: Id }),
  returns: PDF,
  headers: PDF_HEADERS,
  errors: [NotFound, InvoiceUnavailable],
  languages: true,
  example: { path: { id: EXAMPLE.transactionId } },
  handle: async ({ acceptLanguage, caller, invoices, path }) =>
    invoices.pdfs.ofTransaction(caller, path.id, acceptLanguage),
})
