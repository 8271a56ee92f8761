import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Caller } from '../../../core/caller.ts'
import type { InvoiceRow, Invoices } from './invoices.ts'
import type { InvoiceData } from './schemas.ts'
import { wholePeriod } from './service-period.ts'
import { invoices } from './tables.ts'

/** The invoices and credit notes of users. */
export class InvoiceList {
  readonly #sql: Sql
  readonly #invoices: Invoices

  constructor(sql: Sql, issued: Invoices) {
    this.#sql = sql
    this.#invoices = issued
  }

  /** A page of the caller's invoices and credit notes, newest first. */
  async list({ userId }: Caller, page: PageRequest): Promise<PageResult<InvoiceData>> {
    const rows = await invoices.page(this.#sql, { userId }, page)
    return pageOf(
      rows,
      page.limit,
      (row) => row,
      (row) => this.#view(row),
    )
  }

  #view(row: InvoiceRow): InvoiceData {
    const { content, createdAt, currency, id, invoiceId, kind, net, paymentId, tax, total } = row
    const period = wholePeriod(content.lines)
    return {
      _id: id,
      invoiceNumber: this.#invoices.numberOf(row),
      kind,
      transactionId: paymentId,
      invoiceId,
      net,
      tax,
      total,
      currency,
      startsAt: period?.from ?? null,
      endsAt: period?.to ?? null,
      createdAt,
    }
  }
}
