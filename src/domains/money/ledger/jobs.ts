import { HOUR, MINUTE } from '../../../core/clock.ts'
import { schedule } from '../../../core/job.ts'

export const checkLedger = schedule({
  name: 'ledger.check',
  summary: 'Check that the ledger adds up',
  cron: '23 3 * * *',
  timeoutMs: HOUR,
  run: async ({ ledger }) => void (await ledger.inspector.check()),
})

export const expireCredits = schedule({
  name: 'ledger.expireCredits',
  summary: 'Take away credits that have expired, and release reservations that nobody has ended',
  cron: '*/10 * * * *',
  timeoutMs: 10 * MINUTE,
  run: async ({ ledger, signal }) => ledger.sweep(signal),
})
