import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY } from '../../src/core/clock.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { renewSubscription, upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { seedUser, type SeededUser } from '../support/seed.ts'

/** What a trial allows before and after it is paid, and that a person and a card have one. */

let desk: BillingDesk
beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z', {
    env: { TRIAL_LIMITS: 'aiCreditsPerMonth=40, rendersPerMonth=2, webhooks=7' },
  })
})
afterAll(() => desk?.stop())

const as = (name: string) => desk.world.as(name)
const choose = (name: string, planName = 'business') => as(name).call(billing.selectPlan, { body: { planName } })
const current = async (name: string) => (await as(name).call(billing.getSubscription)).body.data

async function limitsOf(name: string): Promise<Record<string, number>> {
  const { items } = (await as(name).call(billing.getBillingUsage)).body.data
  return Object.fromEntries(items.map((item: { name: string; limit: number }) => [item.name, item.limit]))
}

/** Uses credits, as work does that has ended. */
async function use(name: string, amount: number): Promise<void> {
  const { credits } = desk.app.composition.services.ledger
  await desk.app.database.transaction(async (tx) => {
    const reference = `test:${randomUUID()}`
    const { _id } = await credits.reserve(tx, { userId: desk.world.id(name), amount, reference })
    await credits.settle(tx, _id, amount)
  })
}

const TRIAL = {
  aiCreditsPerMonth: 40,
  storageBytes: 10_000_000_000,
  streamingMinutesPerMonth: 600,
  concurrentStreams: 4,
  // Not less than the free plan.
  rendersPerMonth: 50,
}
const BUSINESS = {
  aiCreditsPerMonth: 10_000,
  storageBytes: 1_000_000_000_000,
  streamingMinutesPerMonth: 45_000,
  concurrentStreams: 20,
  rendersPerMonth: 20_000,
}

describe('the limits of a trial', () => {
  test('are in the list of plans, and change with a setting', async () => {
    const { data } = (await desk.world.anonymous().call('GET /api/plans')).body
    const [free, starter, , business] = data
    expect(free.trialLimits).toBeNull()
    expect(business.trialLimits).toMatchObject({ ...TRIAL, webhooks: 7, members: 200, socialAccounts: 300 })
    expect(business.limits).toMatchObject({ ...BUSINESS, webhooks: 100 })
    // Never more than the plan that is tried.
    expect(starter.trialLimits).toMatchObject({ aiCreditsPerMonth: 40, webhooks: 7, members: 10 })
  })

  test('apply until the plan is paid, and name the plan that allows more', async () => {
    await desk.world.user('ada')
    await desk.world.workspace('acme', 'ada')
    expect((await choose('ada')).body.data).toMatchObject({
      plan: 'business',
      creditsPerMonth: 40,
      credits: { remaining: 40 },
    })
    expect(await limitsOf('ada')).toMatchObject(TRIAL)
    for (let made = 0; made < 8; made += 1) {
      const body = { workspaceId: desk.world.id('acme'), url: `https://example.com/${made}`, events: ['*'] }
      const reply = await as('ada').call('POST /api/webhooks', { body })
      expect([made, reply.status]).toEqual([made, made < 7 ? 201 : 402])
      if (made < 7) continue
      expect(reply.body).toMatchObject({
        code: 'plan_limit_reached',
        message: expect.stringMatching(/^The trial of the business plan allows 7 webhooks.+pay for its first cycle/),
        details: { limit: 'webhooks', value: 7, plan: 'business', isTrial: true, nextPlan: 'business' },
      })
    }
    await use('ada', 35)
    expect(await current('ada')).toMatchObject({ creditsRemaining: 5 })
    await expect(use('ada', 6)).rejects.toMatchObject({ code: 'insufficient_credits' })
    // Changing the tried plan grants nothing again.
    await choose('ada', 'pro')
    await choose('ada', 'business')
    expect(await current('ada')).toMatchObject({ creditsRemaining: 5 })
  })

  test('end when the first cycle is charged', async () => {
    await desk.saveCard('ada')
    expect(await limitsOf('ada')).toMatchObject(TRIAL)
    for (const time of ['2026-02-11T10:00:00Z', '2026-02-14T10:00:00Z']) {
      desk.advanceTo(time)
      await desk.advance('ada')
    }
    expect(await current('ada')).toMatchObject({ status: 'active', creditsPerMonth: 10_000 })
    expect(await limitsOf('ada')).toMatchObject(BUSINESS)
    await use('ada', 9_000)
    desk.advanceTo('2026-03-14T10:00:00Z')
    await desk.advance('ada')
    expect(await current('ada')).toMatchObject({ creditsRemaining: 10_000 })
  })

  test('stay while the charge fails', async () => {
    await desk.world.user('bea')
    await choose('bea')
    await desk.saveCard('bea', 'pm_card_chargeCustomerFail')
    for (const days of [11, 3, 1]) {
      desk.clock.advance(days * DAY)
      await desk.advance('bea')
    }
    expect(await current('bea')).toMatchObject({ status: 'past_due', creditsPerMonth: 40 })
    expect(await limitsOf('bea')).toMatchObject(TRIAL)
  })

  test('end when the first cycle is paid ahead, whose credits are granted once', async () => {
    await desk.world.user('cleo')
    await choose('cleo')
    await desk.saveCard('cleo')
    desk.clock.advance(DAY)
    const paid = await as('cleo').call(renewSubscription, { body: { terms: 1 } })
    expect(paid.status, paid.text).toBe(200)
    expect(await limitsOf('cleo')).toMatchObject(BUSINESS)
    await use('cleo', 10_000)
    desk.clock.advance(20 * DAY)
    expect(await current('cleo')).toMatchObject({ status: 'active', creditsRemaining: 0 })
    const { endDate } = await current('cleo')
    desk.advanceTo(endDate)
    await desk.advance('cleo')
    expect(await current('cleo')).toMatchObject({ creditsRemaining: 10_000 })
  })
})

describe('one trial', () => {
  let accounts = 0

  /** An account whose address the test chooses. */
  async function account(email: string): Promise<SeededUser> {
    accounts += 1
    const user = await seedUser(desk.app, `person${accounts}`)
    await desk.app.database.run('update users set email = $2 where id = $1', [user.id, email])
    return { ...user, email }
  }
  const tryPlan = ({ apiKey }: SeededUser) =>
    desk.app.send('POST /api/billing/select-plan', { apiKey, body: { planName: 'business' } })

  test.each([
    ['finn@example.com', 'finn+2@example.com'],
    ['g.r.ace@gmail.com', 'grace+x@googlemail.com'],
  ])('for a person: %s and %s', async (first, second) => {
    expect((await tryPlan(await account(first))).status).toBe(200)
    const refused = await tryPlan(await account(second))
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'trial_used', details: { reason: 'email' } })
    expect(refused.body.message).toContain('was used for the free trial of another account')
  })

  test('for an account', async () => {
    await desk.world.user('hana')
    await choose('hana')
    desk.clock.advance(14 * DAY)
    for (let run = 0; run < 2; run += 1) await desk.advance('hana')
    expect((await choose('hana')).body).toMatchObject({ code: 'trial_used', details: { reason: 'account' } })
  })

  test('for a person whose account was deleted', async () => {
    const first = await account('iris@example.com')
    expect((await tryPlan(first)).status).toBe(200)
    const { email, password } = first
    const login = await desk.app.send('POST /api/auth/login', { body: { email, password } })
    const token = login.body.data.accessToken
    expect((await desk.app.send('DELETE /api/users/me', { token, body: { password } })).status).toBe(200)
    desk.clock.advance(31 * DAY)
    const { deletions } = desk.app.composition.services.dataRights
    while ((await deletions.deleteDue(new AbortController().signal)) > 0);
    const again = await account('iris@example.com')
    expect(again.id).not.toBe(first.id)
    expect((await tryPlan(again)).body).toMatchObject({ code: 'trial_used', details: { reason: 'email' } })
  })

  test('for a card that was saved before', async () => {
    for (const name of ['kim', 'lea']) await desk.world.user(name)
    await choose('kim')
    await desk.saveCard('kim')
    await desk.saveCard('lea', 'pm_card_visa', 'kim')
    expect((await choose('lea')).body).toMatchObject({ code: 'trial_used', details: { reason: 'card' } })
    // Who pays gets the plan.
    expect((await as('lea').call(upgradeCycles, { body: { planName: 'starter' } })).status).toBe(200)
  })

  test('for a card that is saved while the trial runs', async () => {
    for (const name of ['mia', 'nora']) await desk.world.user(name)
    await choose('mia')
    await choose('nora')
    await desk.saveCard('mia')
    await expect(desk.saveCard('nora', 'pm_card_visa', 'mia')).rejects.toThrow('"code":"trial_used"')
    expect((await as('nora').call('GET /api/users/me/payment-methods')).body.data).toEqual([])
    await desk.saveCard('nora')
    // The webhook of the refused card changes nothing either.
    for (const event of desk.stripe.bank.state.events
      .filter(({ type }) => type === 'setup_intent.succeeded')
      .slice(-3)) {
      const signed = desk.stripe.signed(event)
      const reply = await desk.app.send('POST /api/payments/webhooks/{gateway}', {
        path: { gateway: 'stripe' },
        body: signed.body,
        headers: { 'Content-Type': 'application/json', 'Stripe-Signature': signed.signature },
      })
      expect(reply.status).toBe(200)
    }
    expect((await as('nora').call('GET /api/users/me/payment-methods')).body.data).toHaveLength(1)
  })
})
