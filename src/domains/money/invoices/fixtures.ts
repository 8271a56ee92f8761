import { uuidv7 } from '../../../tools/id.ts'
import { EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const lists: Lists<typeof operations> = { listInvoices: times(issue) }

export const fixtures: Fixtures<typeof operations> = {
  getInvoicePdf: async (stage) => ({ path: { id: (await issue(stage)).id } }),
  downloadInvoice: async (stage) => ({ path: { id: (await issue(stage)).paymentId } }),
}

async function issue({ app, caller }: Stage) {
  const { invoices } = app.composition.services
  const paymentId = uuidv7(app.clock.now())
  const [from, to] = [EXAMPLE_TIME, '2026-12-21T18:30:00.000Z']
  const lines = [{ description: 'Pro, one month', amount: 4_900, from, to }]
  return app.database.transaction((tx) =>
    invoices.issued.issue(tx, { userId: caller.id, paymentId, currency: 'USD', total: 4_900, lines, taxes: [] }),
  )
}
