import type { Caller } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import { RawBody, reply } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { findReaders } from '../../identity/users/index.ts'
import { InvoiceUnavailable } from './errors.ts'
import type { InvoiceRow, Invoices } from './invoices.ts'
import { documentLanguage } from './language.ts'
import type { InvoicePrinter } from './pdf/printer.ts'
import { documentView } from './pdf/view.ts'
import { invoiceXml } from './pdf/xml.ts'
import { invoices } from './tables.ts'

/** Finds the user of a payment. */
type PayerOf = (sql: Sql, paymentId: string) => Promise<string | undefined>

/** Invoices as PDF, in the language of the reader. */
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

  /**
   * @param accepted the Accept-Language header
   * @throws AppError not_found
   */
  async ofInvoice(caller: Caller, id: string, accepted?: string) {
    const row = await invoices.first(this.#sql, { id, userId: caller.userId })
    if (row === undefined) throw NotFound()
    return this.#reply(caller, row, accepted)
  }

  /**
   * The invoice of a transaction.
   * @param accepted the Accept-Language header
   * @throws AppError not_found for a transaction of another user; invoice_unavailable while it has none
   */
  async ofTransaction(caller: Caller, paymentId: string, accepted?: string) {
    const { userId } = caller
    const row = await invoices.first(this.#sql, { paymentId, userId, kind: 'invoice' })
    if (row !== undefined) return this.#reply(caller, row, accepted)
    throw (await this.#payerOf(this.#sql, paymentId)) === userId ? InvoiceUnavailable() : NotFound()
  }

  async #reply({ userId }: Caller, row: InvoiceRow, accepted: string | undefined) {
    const [reader] = await findReaders(this.#sql, [userId])
    const language = documentLanguage(accepted, reader?.language ?? 'en')
    const number = this.#invoices.numberOf(row)
    const view = documentView(row, number, language)
    const createdAt = Date.parse(row.createdAt)
    const pdf = await this.#printer.print({ view, xml: invoiceXml(row, number, language), createdAt })
    const headers = {
      'Content-Disposition': `attachment; filename="${number}.pdf"`,
      'Cache-Control': 'private',
      'Content-Language': language.texts.language,
      Vary: 'Accept-Language',
    }
    return reply(200, new RawBody('application/pdf', pdf), headers)
  }
}
