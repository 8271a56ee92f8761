import type { Sql } from '../../../core/sql.ts'
import { accountId, creditsOf } from './accounts.ts'

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
  return sql.rows<CreditUse>(USES, [accountId(creditsOf(userId)), from, to])
}

/** An entry of the kind `credit_use` is named `credit-use:<reservation>`. */
const USES = `
  with uses as (
    select to_char(line.created_at at time zone 'UTC', 'YYYY-MM-DD') as date, -line.amount as amount,
      case when entry.reference like 'credit-use:%' then substring(entry.reference from 12)::uuid end as reservation
    from ledger_lines line join ledger_entries entry on entry.id = line.entry_id
    where line.account_id = $1 and line.created_at >= $2 and line.created_at < $3 and entry.kind = 'credit_use'
  )
  select uses.date, coalesce(regexp_replace(reservation.reference, ':[^:]*$', ''), '') as work,
    sum(uses.amount)::bigint as amount
  from uses left join credit_reservations reservation on reservation.id = uses.reservation
  group by 1, 2 order by 1, 2`
