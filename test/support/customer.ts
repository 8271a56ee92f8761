import { ManualClock } from '../../src/core/clock.ts'
import { FakeStripe } from '../../sandbox/stripe/server.ts'
import { jobs } from '../../src/registry/jobs.ts'
import { startApp, type App, type AppOptions } from './app.ts'
import { World } from './world.ts'

/** A node that charges cards at a fake Stripe. Subscriptions advance only when the test says so. */
export interface BillingDesk {
  readonly app: App
  readonly world: World
  readonly clock: ManualClock
  readonly stripe: FakeStripe
  /** The settings of further nodes. */
  readonly env: Readonly<Record<string, string>>
  /** Does what is due for the subscription of a user. */
  advance(name: string): Promise<void>
  advanceTo(time: string): void
  /** Saves a card and makes it the default. Each person has cards of their own, unless `of` names another person. */
  saveCard(name: string, card?: string, of?: string): Promise<void>
  /** Adds money to a wallet, as an administrator. */
  topUp(name: string, amount: number): Promise<void>
  wallet(name: string): Promise<number>
  /** What is wrong in the ledger: a sum that is not zero, and balances that are not those of their lines. */
  faults(): Promise<{ readonly sum: number; readonly balances: number }>
  /** Balances of the house by account. */
  house(): Promise<Readonly<Record<string, number>>>
  payments(name: string): Promise<readonly { readonly status: string; readonly amount: number; readonly _id: string }[]>
  stop(): Promise<void>
}

export async function startBillingDesk(start: string, options: AppOptions = {}): Promise<BillingDesk> {
  const clock = new ManualClock(Date.parse(start))
  const stripe = await FakeStripe.start({ clock })
  const env = {
    SELLER_COUNTRY: 'US',
    STRIPE_SECRET_KEY: stripe.secretKey,
    STRIPE_PUBLISHABLE_KEY: stripe.publicKey,
    STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    STRIPE_API_URL: stripe.url,
    STRIPE_SCRIPT_URL: stripe.scriptUrl,
    ...options.env,
  }
  // What follows from a change at once. Renewals run when the test says so.
  const isDirect = ({ name }: { readonly name: string }) => /^(mail|notifications)\.|^billing\.fitAccounts$/.test(name)
  const app = await startApp({ clock, jobs: jobs.filter(isDirect), ...options, env })
  const world = new World(app, { areBuyers: true })
  await world.user('root', { admin: true })
  const send = async (name: string, route: string, sent: object) => {
    const reply = await world.as(name).call(route, sent)
    if (reply.status >= 300) throw new Error(`${route}: ${reply.text}`)
    return reply.body.data
  }
  return {
    app,
    world,
    clock,
    stripe,
    env,
    advance: (name) => app.composition.services.billing.renewals.advance(world.id(name)),
    advanceTo: (time) => clock.advance(Date.parse(time) - clock.now()),
    saveCard: async (name, card, of = name) => {
      const body = { gateway: 'stripe' }
      const setup = await send(name, 'POST /api/users/me/payment-methods/setup', { body })
      const { clientSecret, setupReference } = setup
      await stripe.pay(clientSecret, stripe.cardOf(of, card))
      const saved = await send(name, 'POST /api/users/me/payment-methods', { body: { ...body, setupReference } })
      await send(name, 'PATCH /api/users/me/payment-methods/{id}/default', { path: { id: saved._id } })
    },
    topUp: async (name, amount) => {
      const body = {
        userId: world.id(name),
        accountKind: 'wallet',
        amount,
        currency: 'USD',
        reason: 'A gift for the test',
      }
      await send('root', 'POST /api/billing/ledger/corrections', { body })
    },
    wallet: (name) => app.composition.services.ledger.wallet.balanceOf(app.database, world.id(name), 'USD'),
    faults: async () => {
      const row = await app.database.row<{ sum: number; balances: number }>(
        `select coalesce(sum(sum), 0)::bigint as sum, count(*) filter (where balance <> sum) as balances
         from (select a.balance, coalesce(sum(l.amount), 0)::bigint as sum
               from ledger_accounts a left join ledger_lines l on l.account_id = a.id
               group by a.id) accounts`,
      )
      return { sum: Number(row?.sum), balances: Number(row?.balances) }
    },
    house: async () => {
      const rows = await app.database.rows<{ kind: string; balance: number }>(
        `select kind, balance from ledger_accounts where owner_id is null and unit = 'USD' and balance <> 0`,
      )
      return Object.fromEntries(rows.map(({ balance, kind }) => [kind, balance]))
    },
    payments: async (name) => send(name, 'GET /api/users/me/transactions', { query: { limit: 100 } }),
    stop: async () => {
      await app.stop()
      await stripe.close()
    },
  }
}
