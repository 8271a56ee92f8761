import { seedBillingProfile, seedUser, type SeededUser } from '../../../../test/support/seed.ts'
import { newName, times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as couponOperations from './coupon-operations.ts'
import type * as operations from './operations.ts'
import type * as purchaseOperations from './purchase-operations.ts'
import type { BillingRequest } from './pricing.ts'

type Operations = typeof operations & typeof purchaseOperations & typeof couponOperations

/** A new user on a paid plan, as a settled payment makes it. */
async function customer({ app }: Stage, extraAccounts = 0): Promise<SeededUser> {
  const user = await seedUser(app, newName('person'))
  const { pricing, settlement } = app.composition.services.billing
  const request: BillingRequest = { kind: 'upgrade', planName: 'pro', extraAccounts }
  await app.database.transaction(async (tx) => {
    const { change, row } = await pricing.price(tx, user.id, request, { lock: true })
    await settlement.apply(tx, user.id, change, { version: row.version, paymentId: null })
  })
  return user
}

/** A new user with money in the wallet, without a payment method. */
async function wealthyUser({ app, owner }: Stage): Promise<SeededUser> {
  const user = await seedUser(app, newName('person'))
  const reason = 'Goodwill for an outage'
  const gift = { userId: user.id, accountKind: 'wallet' as const, amount: 100_000, currency: 'USD', reason }
  await app.composition.services.ledger.wallet.correct(owner.id, gift)
  await seedBillingProfile(app, user)
  return user
}

/** A user who has paid for a plan from the wallet, and the payment. */
async function payer(stage: Stage): Promise<{ apiKey: string; transactionId: string }> {
  const { apiKey, id: userId } = await wealthyUser(stage)
  const { charges } = stage.app.composition.services.payments
  const { _id } = await charges.payWithWallet({ userId, purpose: 'subscription', input: { planName: 'starter' } })
  return { apiKey, transactionId: _id }
}

const asPayer = async (stage: Stage) => ({ as: { apiKey: (await payer(stage)).apiKey }, once: true as const })

const asCustomer = async (stage: Stage) => ({ as: { apiKey: (await customer(stage)).apiKey } })

async function coupon({ app, owner }: Stage): Promise<{ id: string; code: string }> {
  const input = { code: newName('coupon'), percent: 20, cycles: 3 }
  const { _id, code } = await app.composition.services.billing.coupons.create(owner.id, input)
  return { id: _id, code }
}

export const fixtures: Fixtures<Operations> = {
  cancelSubscription: asCustomer,
  setRecurring: asCustomer,
  setRenewalTerm: asCustomer,
  downgradeSubscription: asCustomer,
  cancelDowngrade: asCustomer,
  getSubscription: asCustomer,
  getExtraAccounts: async (stage) => ({ as: { apiKey: (await customer(stage, 10)).apiKey } }),
  removeExtraAccounts: async (stage) => ({ as: { apiKey: (await customer(stage, 10)).apiKey } }),
  cancelExtraAccountRemoval: async (stage) => {
    const { apiKey, id } = await customer(stage, 10)
    await stage.app.composition.services.billing.subscriptions.removeExtraAccounts(id, 2)
    return { as: { apiKey }, once: true }
  },
  selectPlan: async ({ app }) => ({ as: { apiKey: (await seedUser(app, newName('person'))).apiKey } }),
  previewProration: async ({ app }) => {
    const { apiKey, id } = await seedUser(app, newName('person'))
    const { pricing, settlement } = app.composition.services.billing
    await app.database.transaction(async (tx) => {
      const { change } = await pricing.price(tx, id, { kind: 'upgrade', planName: 'starter' }, { lock: true })
      await settlement.apply(tx, id, change, { version: 1, paymentId: null })
    })
    return { as: { apiKey } }
  },
  previewCoupon: async (stage) => {
    const { apiKey } = await seedUser(stage.app, newName('person'))
    return { as: { apiKey }, body: { code: (await coupon(stage)).code, planName: 'pro', term: 'year' } }
  },
  createCoupon: async () => ({
    body: { code: newName('coupon'), percent: 20, cycles: 3, plans: ['pro', 'business'], maxUses: 100 },
  }),
  upgradeSubscription: asPayer,
  upgradeCycles: asPayer,
  renewSubscription: asPayer,
  addExtraAccounts: asPayer,
  createCyclesFromTransaction: async (stage) => ({ body: { transactionId: (await payer(stage)).transactionId } }),
  endCoupon: async (stage) => ({ path: { id: (await coupon(stage)).id } }),
}

export const lists: Lists<Operations> = {
  listCoupons: times(coupon),
  listBillingCycles: async (stage, count) => {
    const { apiKey, id } = await customer(stage)
    const { pricing, settlement } = stage.app.composition.services.billing
    for (let made = 1; made < count; made += 1) {
      await stage.app.database.transaction(async (tx) => {
        const { change, row } = await pricing.price(tx, id, { kind: 'renewal', terms: 1 }, { lock: true })
        await settlement.apply(tx, id, change, { version: row.version, paymentId: null })
      })
    }
    return { as: { apiKey } }
  },
}
