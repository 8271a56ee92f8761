import { houseAccount } from '../../src/domains/money/ledger/index.ts'
import type { Purpose } from '../../src/domains/money/payments/index.ts'

export const PRICE = 1_190

/** Sells something for 10.00 with 19 % tax, and writes down each grant and refund. */
export const recordingPurpose: Purpose = {
  quote: async () => ({
    total: { amount: PRICE, currency: 'USD' },
    description: '500 credits',
    credits: [
      { account: houseAccount('revenue', 'USD'), amount: 1_000 },
      { account: houseAccount('tax', 'USD'), amount: 190 },
    ],
    details: { net: 1_000 },
  }),
  settle: async (tx, { id, input }) => {
    if (input['isObsolete'] === true) return false
    await tx.run('insert into test_grants (payment_id) values ($1)', [id])
    return true
  },
  refunded: async (tx, { id }, { amount }) => {
    await tx.run('insert into test_grants (payment_id, refund) values ($1, $2)', [id, amount])
  },
}
