import { MINUTE } from '../../../core/clock.ts'
import { schedule } from '../../../core/job.ts'

export const sweepPayments = schedule({
  name: 'payments.sweep',
  summary: 'Ask gateways what has become of payments and refunds without an outcome',
  cron: '* * * * *',
  timeoutMs: 5 * MINUTE,
  run: async ({ payments, signal }) => payments.sweeper.sweep(signal),
})

export const reconcilePayments = schedule({
  name: 'payments.reconcile',
  summary: 'Compare the payments of gateways with those of this server, and report what was missed',
  cron: '23 3 * * *',
  timeoutMs: 30 * MINUTE,
  run: async ({ payments, signal }) => {
    await payments.reconciliation.run(signal)
  },
})
