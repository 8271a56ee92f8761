import type { Pool } from 'pg'
import { uuidv7 } from '../../../src/tools/id.ts'
import { houseAccount } from '../../../src/domains/money/ledger/index.ts'
import { accountId } from '../../../src/domains/money/ledger/accounts.ts'

/** A settlement written by hand for this one purpose: a transaction of prepared statements. */
export function handwrittenSettlement(pool: Pool, price: number): (paymentId: string) => Promise<void> {
  const accounts = [
    ['gateway:stripe', -price],
    ['revenue', 1_000],
    ['tax', price - 1_000],
  ] as const
  const lines = accounts.map(([kind, amount]) => [accountId(houseAccount(kind, 'USD')), kind, amount] as const)
  return async (paymentId) => {
    const client = await pool.connect()
    const run = (name: string, text: string, values: readonly unknown[]) =>
      client.query<Record<string, unknown>>({ name, text, values: [...values] })
    try {
      await client.query('begin')
      const found = await run('payer', 'select user_id from payments where id = $1', [paymentId])
      await run('lock payer', 'select 1 from subscriptions where user_id = $1 for update', [found.rows[0]?.['user_id']])
      const locked = await run('lock', 'select status, amount from payments where id = $1 for update', [paymentId])
      const [payment] = locked.rows
      if (payment?.['status'] === 'pending' && payment['amount'] === String(price)) {
        const now = Date.now()
        const at = new Date(now)
        const entryId = uuidv7(now)
        await run('grant', 'insert into test_grants (payment_id) values ($1)', [paymentId])
        await run(
          'entry',
          `insert into ledger_entries (id, kind, reference, line_count, created_at) values ($1, 'payment', $2, 3, $3)`,
          [entryId, `payment:${paymentId}`, at],
        )
        await run(
          'lines',
          `insert into ledger_lines (id, entry_id, account_id, house, unit, amount, created_at)
           values ($1, $4, $5, $6, 'USD', $7, $14), ($2, $4, $8, $9, 'USD', $10, $14), ($3, $4, $11, $12, 'USD', $13, $14)`,
          [uuidv7(now), uuidv7(now), uuidv7(now), entryId, ...lines.flat(), at],
        )
        await run(
          'change',
          `insert into payment_changes (id, payment_id, from_status, to_status, cause, created_at)
           values ($1, $2, 'pending', 'succeeded', 'webhook', $3)`,
          [uuidv7(now), paymentId, at],
        )
        await run(
          'settled',
          `update payments set status = 'succeeded', received_amount = amount, settled_to = 'purpose', settled_at = $2,
             check_at = null, updated_at = $2 where id = $1`,
          [paymentId, at],
        )
      }
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  }
}
