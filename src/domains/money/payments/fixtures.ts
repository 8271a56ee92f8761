import { times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as administration from './administration/operations.ts'
import type * as operations from './operations.ts'
import type * as savedMethods from './saved-methods/operations.ts'

type Operations = typeof operations & typeof savedMethods & typeof administration

const TOP_UP = { purpose: 'wallet', amount: 2_500, currency: 'USD' } as const

export const fixtures: Fixtures<Operations> = {
  verifyPayment: async (stage) => ({ body: { reference: (await begin(stage)).payment.reference } }),
  payWithWallet: async ({ app, caller }) => {
    const gift = {
      userId: caller.id,
      accountKind: 'wallet',
      amount: 10_000,
      currency: 'USD',
      reason: 'A gift',
    } as const
    await app.composition.services.ledger.wallet.correct(caller.id, gift)
    return {}
  },
  createCryptoInvoice: async () => ({ error: 'gateway_not_configured' }),
  chargeSavedMethod: async (stage) => {
    const setupReference = await entered(stage)
    const { payments } = stage.app.composition.services
    await payments.methods.save({ userId: stage.caller.id }, 'stripe', setupReference)
    return {}
  },
  paymentWebhook: async ({ app }) => {
    const object = { id: 'cus_1', object: 'customer' }
    const event = { id: 'evt_1', object: 'event', type: 'customer.created', livemode: false, data: { object } }
    const { body, signature } = bank(app).signed(event)
    return { body, as: { headers: { 'Content-Type': 'application/json', 'Stripe-Signature': signature } } }
  },
  savePaymentMethod: async (stage) => ({ body: { gateway: 'stripe', setupReference: await entered(stage) } }),
  deletePaymentMethod: async (stage) => ({ path: { id: await method(stage) } }),
  setDefaultPaymentMethod: async (stage) => ({ path: { id: await method(stage) } }),
  refundPayment: async (stage) => {
    const { clientSecret, payment } = await begin(stage)
    await bank(stage.app).pay(clientSecret)
    await stage.app.composition.services.payments.charges.verify({ userId: stage.caller.id }, payment.reference)
    return { path: { id: payment._id } }
  },
  bookPayment: async (stage) => ({ path: { id: (await begin(stage, 'manual')).payment._id } }),
}

export const lists: Lists<Operations> = {
  listPaymentMethods: times(method),
  listTransactions: times((stage) => begin(stage)),
  listGatewayEvents: times(async ({ app }) => {
    count += 1
    const finding = {
      eventId: `evt_foreign_${count}`,
      outcome: 'foreign' as const,
      note: 'It is from another account.',
    }
    await app.composition.services.payments.events.report('stripe', finding, { object: 'event' })
  }),
}

let count = 0

/** The payer's side of the sandbox. */
function bank(app: Stage['app']) {
  const { stripe } = app.composition.services.payments.sandbox
  if (stripe === undefined) throw new Error('this node has no sandbox for payments')
  return stripe
}

async function begin({ app, caller }: Stage, gateway = 'stripe') {
  const { purpose, ...input } = TOP_UP
  const begun = await app.composition.services.payments.charges.initialize(
    { userId: caller.id, purpose, input },
    { gateway },
  )
  return { ...begun, clientSecret: begun.clientSecret ?? '' }
}

/** A card that was entered in the browser. */
async function entered({ app, caller }: Stage): Promise<string> {
  const setup = await app.composition.services.payments.methods.setUp({ userId: caller.id }, 'stripe')
  await bank(app).pay(setup.clientSecret ?? '')
  return setup.setupReference
}

async function method(stage: Stage): Promise<string> {
  const { payments } = stage.app.composition.services
  const saved = await payments.methods.save({ userId: stage.caller.id }, 'stripe', await entered(stage))
  return saved._id
}
