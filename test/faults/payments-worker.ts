/**
 * Payments in a separate process, for tests that kill it. It does what the parent asks, and ends itself with SIGKILL at
 * the step that the parent names. Parent: payment-processes.ts.
 */
import { loadConfig } from '../../src/config/config.ts'
import { InProcessCoordination } from '../../src/coordination/in-process.ts'
import { ManualClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { Ledger } from '../../src/domains/money/ledger/service.ts'
import { composePayments } from '../../src/domains/money/payments/compose.ts'
import { PlanService } from '../../src/domains/money/plans/index.ts'
import { recordingPurpose } from '../support/recording-purpose.ts'
import type { Order } from './payment-processes.ts'

const { NOW = '0', ...env } = process.env
const clock = new ManualClock(Number(NOW))
const log = createLog({ level: 'silent' })
const config = loadConfig(env)
const database = await Database.connect({ url: config.DATABASE_URL ?? '', poolSize: 4, entities: [], log })
const coordination = new InProcessCoordination(log)
const foundation = { clock, config, coordination, database, log } as never
const plans = new PlanService(foundation)
const ledger = new Ledger(foundation, (sql, userId) => plans.creditMonthOf(sql, userId))
const composed = composePayments(foundation, { ledger, plans })
await composed.start()
const { payments } = composed.services
payments.purposes.register('credits', recordingPurpose)

async function run({ order }: { readonly order: Order }): Promise<unknown> {
  switch (order.kind) {
    case 'initialize': {
      const request = { userId: order.userId, purpose: 'credits' as const, input: {} }
      return payments.charges.initialize(request, { gateway: 'stripe' })
    }
    case 'verify':
      return payments.charges.verify({ userId: order.userId }, order.reference)
    case 'webhook':
      return payments.events.receive('stripe', order.request)
    case 'refund':
      return payments.refunds.refund({ userId: order.userId }, order.paymentId, { reason: 'A test', amount: 90 })
    case 'sweep':
      return payments.sweeper.sweep()
    default:
      return payments.reconciliation.run()
  }
}

process.on('message', (message: { readonly id: number; readonly order: Order; readonly now: number }) => {
  clock.advance(message.now - clock.now())
  const { killAt } = message.order
  payments.steps.onStep = (step) => {
    if (step === killAt) process.kill(process.pid, 'SIGKILL')
  }
  const reply = (fields: object) => process.send?.({ id: message.id, ...fields })
  run(message).then(
    (result) => reply({ result: result ?? null }),
    (error: Error) => reply({ error: error.message }),
  )
})
// It does not outlive its parent.
process.on('disconnect', () => process.exit(1))
process.send?.('ready')
