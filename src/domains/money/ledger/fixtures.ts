import { times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

const GOODWILL = {
  accountKind: 'wallet',
  amount: 500,
  currency: 'USD',
  reason: 'Goodwill for the outage on 2 March',
} as const

export const lists: Lists<typeof operations> = {
  listWalletEntries: times(correct),
  listCorrections: times(correct),
}

export const fixtures: Fixtures<typeof operations> = {
  correctBalance: async ({ caller }) => ({ body: { userId: caller.id, ...GOODWILL } }),
  getWallet: async (stage) => {
    await correct(stage)
    return {}
  },
}

async function correct({ app, caller }: Stage): Promise<void> {
  const { ledger } = app.composition.services
  await ledger.wallet.correct(caller.id, { userId: caller.id, ...GOODWILL })
}
