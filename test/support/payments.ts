import { ManualClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { composePayments } from '../../src/domains/money/payments/compose.ts'
import { FakeStripe } from '../../sandbox/stripe/server.ts'
import type { StripeEvent } from '../../sandbox/stripe/state.ts'
import { houseAccount } from '../../src/domains/money/ledger/index.ts'
import { startApp, type App } from './app.ts'
import { recordingPurpose } from './recording-purpose.ts'
import type { Reply } from './send.ts'
import { World } from './world.ts'

/** A node whose card payments go to a fake Stripe, with a clock that both share. */
export interface Shop {
  readonly app: App
  readonly world: World
  readonly stripe: FakeStripe
  readonly clock: ManualClock
  /** Payments on the same database, with a purpose that records what it grants. */
  readonly desk: Desk
  /** Sends a webhook to the node. */
  deliver(event: StripeEvent | object, options?: { readonly at?: number; readonly signature?: string }): Promise<Reply>
  /** Hands a webhook to the desk. */
  receive(event: StripeEvent | object): Promise<void>
  /** What was granted for a payment, one entry for each time. */
  grants(paymentId: string): Promise<number>
  balance(userId: string): Promise<number>
  /** The sum of all lines of the ledger, which is always 0, and what the gateway holds for us. */
  books(): Promise<{ sum: number; held: number }>
  stop(): Promise<void>
}

export type Desk = ReturnType<typeof composePayments>['services']['payments']

export async function startShop(env: Record<string, string> = {}): Promise<Shop> {
  const clock = new ManualClock()
  const stripe = await FakeStripe.start({ clock })
  const app = await startApp({
    clock,
    env: {
      STRIPE_SECRET_KEY: stripe.secretKey,
      STRIPE_PUBLISHABLE_KEY: stripe.publicKey,
      STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      STRIPE_API_URL: stripe.url,
      BANK_TRANSFER_INSTRUCTIONS: 'Example Ltd, DE00 0000 0000 0000 0000 00',
      ...env,
    },
  })
  const { database } = app
  await database.run('create table test_grants (payment_id uuid not null, refund integer)')
  const { ledger, plans } = app.composition.services
  const log = createLog({ level: 'silent' })
  const composed = composePayments({ clock, config: app.config, database, log } as never, { ledger, plans })
  await composed.start()
  const desk = composed.services.payments
  desk.purposes.register('credits', recordingPurpose)
  return {
    app,
    world: new World(app, { areBuyers: true }),
    stripe,
    clock,
    desk,
    deliver: (event, { at, signature } = {}) => {
      const signed = stripe.signed(event, at)
      return app.send('POST /api/payments/webhooks/{gateway}', {
        path: { gateway: 'stripe' },
        body: signed.body,
        headers: { 'Content-Type': 'application/json', 'Stripe-Signature': signature ?? signed.signature },
      })
    },
    receive: (event) => desk.events.receive('stripe', stripe.signed(event)),
    grants: async (paymentId) => {
      const row = await database.row<{ count: number }>(
        'select count(*) as count from test_grants where payment_id = $1 and refund is null',
        [paymentId],
      )
      return row?.count ?? 0
    },
    balance: (userId) => ledger.wallet.balanceOf(database, userId, 'USD'),
    books: async () => {
      const total = await database.row<{ sum: string }>(
        'select coalesce(sum(amount), 0)::text as sum from ledger_lines',
      )
      const held = await ledger.balanceOf(database, houseAccount('gateway:stripe', 'USD'))
      return { sum: Number(total?.sum), held }
    },
    stop: async () => {
      composed.close()
      await app.stop()
      await stripe.close()
    },
  }
}
