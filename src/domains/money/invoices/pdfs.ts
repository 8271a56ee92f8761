import type { Caller } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import { RawBody, reply } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { findUser } from '../../identity/users/index.ts'
import { InvoiceUnavailable } from './errors.ts'
import type { InvoiceRow, Invoices } from './invoices.ts'
import { readableLocale } from './money-format.ts'
import type { InvoicePrinter } from './pdf/printer.ts'
import { documentView } from './pdf/view.ts'
import { invoiceXml } from './pdf/xml.ts'
import { invoices } from './tables.ts'

/** Finds the user of a payment. */
type PayerOf = (sql: Sql, paymentId: string) => Promise<string | undefined>

/** Invoices as PDF, with amounts and days as the reader's language writes them. */
export class InvoicePdfs {
  readonly #sql: Sql
  readonly #invoices: Invoices
  readonly #printer: InvoicePrinter
  readonly #payerOf: PayerOf

  constructor(sql: Sql, issued: Invoices, printer: InvoicePrinter, payerOf: PayerOf) {
    this.#sql = sql
    this.#invoices = issued
    this.#printer = printer
    this.#payerOf = payerOf
  }

  /** @throws AppError not_found */
  async ofInvoice(caller: Caller, id: string) {
    const row = await invoices.first(this.#sql, { id, userId: caller.userId })
    if (row === undefined) throw NotFound()
    return this.#reply(caller, row)
  }

  /**
   * The invoice of a transaction.
   * @throws AppError not_found for a transaction of another user; invoice_unavailable while it has none
   */
  async ofTransaction(caller: Caller, paymentId: string) {
    const { userId } = caller
    const row = await invoices.first(this.#sql, { paymentId, userId, kind: 'invoice' })
    if (row !== undefined) return this.#reply(caller, row)
    throw (await this.#payerOf(this.#sql, paymentId)) === userId ? InvoiceUnavailable() : NotFound()
  }

  async #reply({ userId }: Caller, row: InvoiceRow) {
    const user = await findUser(this.#sql, userId, { columns: ['locale'] })
    const number = this.#invoices.numberOf(row)
    const view = documentView(row, number, readableLocale(user?.locale ?? 'en'))
    const createdAt = Date.parse(row.createdAt)
    const pdf = await this.#printer.print({ view, xml: invoiceXml(row, number), createdAt })
    const headers = { 'Content-Disposition': `attachment; filename="${number}.pdf"`, 'Cache-Control': 'private' }
    return reply(200, new RawBody('application/pdf', pdf), headers)
  }
}
