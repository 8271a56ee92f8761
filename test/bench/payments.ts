/**
 * Settlements compared with one transaction written by hand for the same rows, on the same PostgreSQL:
 * `npm run bench:payments`.
 *
 * A settlement locks the payer's subscription and the payment, has the purpose grant what was paid, posts an entry with
 * three lines to the ledger, records the change and moves the payment. Both sides run in this process, with the same
 * triggers and as many connections as settlements at once. They alternate; the figures are medians of the rounds, and
 * the ratio is the median of the pairs. At the end, both must have granted each payment once and the ledger must add up.
 */
import { Pool } from 'pg'
import { loadConfig } from '../../src/config/config.ts'
import { InProcessCoordination } from '../../src/coordination/in-process.ts'
import { systemClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { Ledger } from '../../src/domains/money/ledger/service.ts'
import { composePayments } from '../../src/domains/money/payments/compose.ts'
import type { Gateway } from '../../src/domains/money/payments/gateways/gateway.ts'
import { payments as paymentRows } from '../../src/domains/money/payments/tables.ts'
import { PlanService } from '../../src/domains/money/plans/index.ts'
import { PRICE, recordingPurpose } from '../support/recording-purpose.ts'
import { handwrittenSettlement } from './baselines/handwritten-settlement.ts'
import { machine, median } from './support/process.ts'
import { startBenchServer } from './support/workspace.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 7)
const SETTLEMENTS = Number(process.env['SETTLEMENTS'] ?? 2_000)
const AT_ONCE = [1, 16] as const
/** Payments of one payer wait for each other. */
const PAYERS = 256

const server = await startBenchServer()
const log = createLog({ level: 'silent' })
const config = loadConfig({ DATABASE_URL: server.databaseUrl, JWT_SECRET: 'bench-payments-bench-payments-00' })
const most = Math.max(...AT_ONCE)
const database = await Database.connect({ url: server.databaseUrl, poolSize: most, entities: [], log })
const byHand = new Pool({ connectionString: server.databaseUrl, max: most })
const foundation = { clock: systemClock, config, coordination: new InProcessCoordination(log), database, log } as never
const plans = new PlanService(foundation)
const ledger = new Ledger(foundation, (sql, userId) => plans.creditMonthOf(sql, userId))
const composed = composePayments(foundation, { ledger, plans })
await composed.start()
const { payments } = composed.services
payments.purposes.register('credits', recordingPurpose)

/** A gateway that says at once that a payment was paid. */
const gateway = {
  retrieve: async (reference: string) => ({
    reference,
    status: 'succeeded',
    total: { amount: PRICE, currency: 'USD' },
    received: PRICE,
    refunds: [],
  }),
} as unknown as Gateway

async function ours(id: string): Promise<void> {
  const row = await paymentRows.first(database, { id })
  if (row === undefined) throw new Error(`there is no payment ${id}`)
  const { payment } = await payments.charges.lookUp(gateway, row, { by: 'webhook' })
  if (payment.settledTo !== 'purpose') throw new Error(`the payment ${id} was not settled`)
}

const theirs = handwrittenSettlement(byHand, PRICE)

interface Figures {
  readonly perSecond: number
  readonly perCpuSecond: number
}

async function measure(settle: (id: string) => Promise<void>, atOnce: number): Promise<Figures> {
  const ids = await newPayments(SETTLEMENTS)
  const cpu = process.cpuUsage()
  const began = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) await settle(id)
    }),
  )
  const seconds = (performance.now() - began) / 1_000
  const { system, user } = process.cpuUsage(cpu)
  return { perSecond: SETTLEMENTS / seconds, perCpuSecond: SETTLEMENTS / ((user + system) / 1e6) }
}

/** Payments that wait for their money, and what they pay. */
async function newPayments(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7(Date.now()))
  const quote = await recordingPurpose.quote(database, {} as never)
  await server.pool.query(
    `insert into payments (id, user_id, reference, purpose, description, input, details, credits, amount, currency,
       gateway, gateway_reference, status, save_method, off_session, check_at, created_at, updated_at)
     select id::uuid, payers.ids[1 + number % $2], id, 'credits', $3, '{}', '{}', $4, $5, 'USD',
       'stripe', 'pi_' || id, 'pending', false, false, now() + interval '1 day', now(), now()
     from unnest($1::text[]) with ordinality as given (id, number),
       (select array_agg(id) as ids from users where email like 'payer-%') payers`,
    [ids, PAYERS, quote.description, JSON.stringify(quote.credits), PRICE],
  )
  return ids
}

try {
  await database.run('create table test_grants (payment_id uuid not null, refund integer)')
  // Copies of the user of the server, with what everyone has.
  for (let number = 0; number < PAYERS; number += 1) {
    const id = uuidv7(Date.now())
    const copy = async (table: string, own: object) =>
      server.pool.query(
        `insert into ${table} select (jsonb_populate_record(row, $1)).* from ${table} row
         where ${table === 'users' ? 'email' : 'user_id'} = ${
           table === 'users' ? `'bench@example.com'` : `(select id from users where email = 'bench@example.com')`
         }`,
        [JSON.stringify(own)],
      )
    await copy('users', { id, email: `payer-${number}@example.com` })
    await copy('subscriptions', { user_id: id })
  }
  console.log(`Machine: ${machine()}\n`)
  console.log('| at once | side | settlements/s | per CPU second | ratio | range | ratio per CPU second |')
  console.log('|---|---|---|---|---|---|---|')
  for (const atOnce of AT_ONCE) {
    await measure(ours, atOnce)
    await measure(theirs, atOnce)
    const pairs: [Figures, Figures][] = []
    for (let round = 0; round < ROUNDS; round += 1)
      pairs.push([await measure(ours, atOnce), await measure(theirs, atOnce)])
    const ratios = (by: keyof Figures) => pairs.map(([one, other]) => one[by] / other[by])
    const percent = (ratio: number) => `${(ratio * 100).toFixed(0)} %`
    const of = (side: 0 | 1, by: keyof Figures) => median(pairs.map((pair) => pair[side][by])).toFixed(0)
    const all = ratios('perSecond')
    console.log(
      `| ${atOnce} | Crier | ${of(0, 'perSecond')} | ${of(0, 'perCpuSecond')} | **${percent(median(all))}** | ${percent(Math.min(...all))}–${percent(Math.max(...all))} | ${percent(median(ratios('perCpuSecond')))} |`,
    )
    console.log(`| ${atOnce} | by hand | ${of(1, 'perSecond')} | ${of(1, 'perCpuSecond')} | | | |`)
  }
  const [wrong] = await database.rows<{ granted: number; unbalanced: number }>(
    `select (select count(*) from payments left join test_grants on payment_id = payments.id
             where status <> 'succeeded' or payment_id is null)::int as granted,
       (select count(*) from (select account.balance, coalesce(sum(line.amount), 0) as sum from ledger_accounts account
          left join ledger_lines line on line.account_id = account.id group by account.id) accounts
        where balance <> sum)::int as unbalanced`,
  )
  if (wrong === undefined || wrong.granted > 0 || wrong.unbalanced > 0)
    throw new Error(`wrong at the end: ${JSON.stringify(wrong)}`)
} finally {
  await byHand.end()
  await database.close()
  await server.stop()
}
