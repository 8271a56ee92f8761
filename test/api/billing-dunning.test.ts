import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY } from '../../src/core/clock.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { upgradeSubscription } from '../../src/domains/money/billing/purchase-operations.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { waitFor } from '../support/wait.ts'

/** What happens when a renewal cannot be charged, and which social accounts a change of the plan keeps. */

let desk: BillingDesk

beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z')
})
afterAll(() => desk?.stop())

const as = (name: string) => desk.world.as(name)
const subscription = async (name: string) => (await as(name).call(billing.getSubscription)).body.data
const subjects = async (name: string) => {
  const { email } = await desk.world.user(name)
  return (await desk.app.outbox.mails(email)).map(({ subject }) => subject ?? '')
}
const upgrade = async (name: string, planName: string) =>
  expect((await as(name).call(upgradeSubscription, { body: { planName } })).status).toBe(200)

describe('a renewal that is declined', () => {
  test('is repeated after 1, 3, 5 and 7 days, and the subscription then ends on the free plan', async () => {
    await desk.world.user('dora')
    await desk.saveCard('dora')
    await upgrade('dora', 'starter')
    const { endDate } = await subscription('dora')
    await desk.saveCard('dora', 'pm_card_chargeCustomerFail')
    const end = Date.parse(endDate)
    for (const [days, next] of [
      [0, 1],
      [1, 3],
      [3, 5],
      [5, 7],
    ] as const) {
      desk.clock.advance(end + days * DAY - desk.clock.now())
      await desk.advance('dora')
      await desk.advance('dora')
      expect(await subscription('dora'), `day ${days}`).toMatchObject({
        plan: 'starter',
        status: 'past_due',
        isRecurring: true,
        nextChargeAt: new Date(end + next * DAY).toISOString(),
      })
    }
    desk.clock.advance(end + 7 * DAY - desk.clock.now())
    await desk.advance('dora')
    expect(await subscription('dora')).toMatchObject({ plan: 'free', status: 'expired', nextChargeAt: null })
    const failed = (await desk.payments('dora')).filter(({ status }) => status === 'failed')
    expect(failed).toHaveLength(5)
    await waitFor(async () => (await subjects('dora')).some((subject) => subject.includes('has ended')))
    expect((await subjects('dora')).filter((subject) => subject.includes('failed'))).toHaveLength(4)
    // The mails link to what the payer can do.
    const { email } = await desk.world.user('dora')
    const [failure, ended] = [
      await desk.app.outbox.newest(email, /failed/),
      await desk.app.outbox.newest(email, /ended/),
    ]
    expect(failure.text).toMatch(/^Pay or change the card:\nhttp:\S+\/billing$/m)
    expect(ended.text).toMatch(/^Choose a plan:\nhttp:\S+\/billing#plans$/m)
    expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
    // Later, a plan can be bought again.
    await desk.saveCard('dora')
    await upgrade('dora', 'starter')
    expect(await subscription('dora')).toMatchObject({ plan: 'starter', status: 'active' })
  })

  test('is ended by a payment of the customer in between', async () => {
    await desk.world.user('dan')
    await desk.saveCard('dan')
    await upgrade('dan', 'starter')
    desk.advanceTo((await subscription('dan')).endDate)
    await desk.saveCard('dan', 'pm_card_chargeCustomerFail')
    await desk.advance('dan')
    expect((await subscription('dan')).status).toBe('past_due')
    await desk.saveCard('dan')
    const renewed = await as('dan').call('POST /api/subscriptions/renew')
    expect([renewed.status, renewed.body.data.status]).toEqual([200, 'active'])
  })

  test('is paid by the wallet if it has enough, without a mail about a failure', async () => {
    await desk.world.user('wes')
    await desk.saveCard('wes')
    await upgrade('wes', 'starter')
    const { endDate } = await subscription('wes')
    await desk.saveCard('wes', 'pm_card_chargeCustomerFail')
    await desk.topUp('wes', 2_500)
    desk.advanceTo(endDate)
    await Promise.all([desk.advance('wes'), desk.advance('wes'), desk.advance('wes')])
    expect(await subscription('wes')).toMatchObject({ plan: 'starter', status: 'active' })
    expect(await desk.wallet('wes')).toBe(600)
    expect((await subjects('wes')).filter((subject) => subject.includes('failed'))).toEqual([])
    // With too little money it is an ordinary refusal.
    desk.advanceTo((await subscription('wes')).endDate)
    await desk.advance('wes')
    expect([(await subscription('wes')).status, await desk.wallet('wes')]).toEqual(['past_due', 600])
    expect(await desk.faults()).toEqual({ sum: 0, balances: 0 })
  })
})

describe('a smaller plan', () => {
  const connect = async (name: string, workspaceId: string) => {
    const body = { workspaceId, platform: 'telegram', sandbox: true }
    const reply = await as(name).call('POST /api/social-accounts', { body })
    expect(reply.status, reply.text).toBe(201)
    return reply.body.data._id as string
  }
  const statuses = async (name: string, workspaceId: string) => {
    const reply = await as(name).call('GET /api/social-accounts', { query: { workspaceId } })
    const rows: { _id: string; status: string }[] = reply.body.data
    return Object.fromEntries(rows.map(({ _id, status }) => [_id, status]))
  }

  test('archives what is not kept, and a larger one takes it from the archive again', async () => {
    await desk.world.user('ann')
    await desk.world.user('eve')
    await desk.topUp('ann', 100_000)
    await upgrade('ann', 'pro')
    const workspaceId = await desk.world.workspace('studio', 'ann')
    const [first, second, third] = [
      await connect('ann', workspaceId),
      await connect('ann', workspaceId),
      await connect('ann', workspaceId),
    ] as const
    await as('ann').call('POST /api/limits/accounts/{id}/archive', { path: { id: third } })
    const foreign = await connect('eve', await desk.world.workspace('other', 'eve'))
    const plan = (keepAccountIds: string[]) =>
      as('ann').call(billing.downgradeSubscription, { body: { planName: 'starter', keepAccountIds } })
    const refused = await plan([first, foreign])
    expect([refused.status, refused.body.errors]).toMatchObject([400, [{ path: '/body/keepAccountIds/1' }]])
    expect((await plan([first])).body.data).toMatchObject({ nextPlan: 'starter', keepAccountIds: [first] })
    expect(await statuses('ann', workspaceId)).toMatchObject({ [first]: 'connected', [second]: 'connected' })
    desk.advanceTo((await subscription('ann')).endDate)
    await desk.advance('ann')
    await waitFor(async () => (await statuses('ann', workspaceId))[second] === 'archived')
    expect(await statuses('ann', workspaceId)).toMatchObject({ [first]: 'connected', [third]: 'archived' })
    const limits = await as('ann').call('GET /api/limits/status')
    expect(limits.body.data).toMatchObject({ plan: 'starter', isOver: false, quotas: [{ limit: 15, used: 1 }, {}] })
    await upgrade('ann', 'pro')
    await waitFor(async () => (await statuses('ann', workspaceId))[second] === 'connected')
    // What the user has archived stays in the archive.
    expect(await statuses('ann', workspaceId)).toMatchObject({ [first]: 'connected', [third]: 'archived' })
  })
})
