import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import { accountId, creditsOf } from './accounts.ts'
import { creditReservations, ledgerEntries, ledgerLines } from './tables.ts'

/** Credits that a user used on one day for one piece of work. */
export interface CreditUse {
  /** The day in UTC: `2026-11-21`. */
  readonly date: string
  /** The reference of the reservation, such as `ai:caption:<id>`, without its last part. */
  readonly work: string
  readonly amount: number
}

/** What a user's credits were used for, by day and work. `from` is inclusive, `to` is exclusive. */
export function creditUses(sql: Sql, userId: string, from: Date, to: Date): Promise<CreditUse[]> {
  return usesByDay.rows(sql, { accountId: accountId(creditsOf(userId)), from, to })
}

/** An entry of the kind `credit_use` is named `credit-use:<reservation>`. */
const usesByDay = query(
  { creditReservations, ledgerEntries, ledgerLines },
  (db, $: { accountId: string; from: Date; to: Date }) =>
    db
      .with('uses', (cte) =>
        cte
          .selectFrom('ledgerLines as line')
          .innerJoin('ledgerEntries as entry', 'entry.id', 'line.entryId')
          .select((e) => {
            const day = raw<string>`to_char(${e.ref('line.createdAt')} at time zone 'UTC', 'YYYY-MM-DD')`
            const reservation = raw<string>`substring(${e.ref('entry.reference')} from 12)::uuid`
            return [
              day.as('date'),
              e.neg(e.ref('line.amount')).as('amount'),
              e
                .case()
                .when('entry.reference', 'like', raw.lit('credit-use:%'))
                .then(reservation)
                .end()
                .as('reservation'),
            ]
          })
          .where('line.accountId', '=', $.accountId)
          .where('line.createdAt', '>=', raw<string>`${$.from}`)
          .where('line.createdAt', '<', raw<string>`${$.to}`)
          .where('entry.kind', '=', raw.lit('credit_use')),
      )
      .selectFrom('uses')
      .leftJoin('creditReservations as reservation', 'reservation.id', 'uses.reservation')
      .select((e) => [
        'uses.date',
        raw<string>`coalesce(regexp_replace(${e.ref('reservation.reference')}, ':[^:]*$', ''), '')`.as('work'),
        e.cast<number>(e.fn.sum('uses.amount'), 'bigint').as('amount'),
      ])
      .groupBy(['uses.date', 'work'])
      .orderBy('uses.date')
      .orderBy('work'),
)
