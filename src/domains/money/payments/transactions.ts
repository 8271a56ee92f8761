import type { Caller } from '../../../core/caller.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import type { PaymentData } from './schemas.ts'
import type { PaymentStatusName } from './states.ts'
import { payments, type PaymentRow } from './tables.ts'
import { paymentView } from './views.ts'

interface Filter {
  readonly status?: readonly PaymentStatusName[]
  readonly from?: string
  readonly to?: string
}

/** The payments of a user, as the list of transactions shows them. */
export class Transactions {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** A page of the caller's payments, newest first. */
  async list({ userId }: Caller, { from, status, to }: Filter, page: PageRequest): Promise<PageResult<PaymentData>> {
    const rows = await byUser.rows(this.#sql, {
      userId,
      limit: page.limit + 1,
      before: page.after?.id,
      status: values(status),
      from: from === undefined ? undefined : instant(from),
      to: to === undefined ? undefined : instant(to),
    })
    return pageOf(rows as PaymentRow[], page.limit, (row) => row, paymentView)
  }

  /** A payment by id, for the domains that issue documents about it. */
  find(sql: Sql, id: string): Promise<PaymentRow | undefined> {
    return payments.first(sql, { id })
  }
}

const SHOWN = [
  'id',
  'reference',
  'gateway',
  'purpose',
  'description',
  'amount',
  'currency',
  'receivedAmount',
  'refundedAmount',
  'status',
  'failureCode',
  'failureMessage',
  'settledTo',
  'settledAt',
  'expiresAt',
  'createdAt',
  'updatedAt',
] as const

interface Parameters {
  readonly userId: string
  readonly limit: number
  readonly before: string | undefined
  readonly status: Values<PaymentStatusName> | undefined
  readonly from: Date | undefined
  readonly to: Date | undefined
}

const byUser = query({ payments }, (db, $: Parameters) => {
  let found = db
    .selectFrom('payments')
    .select(SHOWN)
    .where('userId', '=', $.userId)
    .orderBy('id', 'desc')
    .limit($.limit)
  if ($.before !== undefined) found = found.where('id', '<', $.before)
  if ($.status !== undefined) found = found.where(isOneOf('status', $.status))
  if ($.from !== undefined) found = found.where('createdAt', '>=', $.from as never)
  return $.to === undefined ? found : found.where('createdAt', '<', $.to as never)
})
