import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR } from '../../src/core/clock.ts'
import { purgeAccount } from '../../src/domains/social/accounts/turns.ts'
import { PostWorld } from '../support/post-world.ts'
import { addFault } from '../support/sandbox-faults.ts'
import { newName } from '../support/stage.ts'

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('post-accounts')))
afterAll(() => world.stop())

/** An account that no other test uses. */
const account = (platform = 'mastodon') => world.account(platform, newName('key'))
const change = (verb: string, id: string) => world.send(`POST /api/limits/accounts/{id}/${verb}`, { path: { id } })
const disconnect = (id: string) => world.send('DELETE /api/social-accounts/{id}', { path: { id } })
const preview = async (id: string) =>
  (await world.send('GET /api/social-accounts/{id}/disconnect-preview', { path: { id } })).body.data

describe('disconnecting an account', () => {
  test('cancels its scheduled targets, which the preview names, and restoring it schedules those to come', async () => {
    const [accountId, other] = [await account(), await account('bluesky')]
    const targets = [{ accountId }, { accountId: other }]
    const soon = await world.create({ content: 'soon', targets, scheduledFor: world.later(HOUR) })
    const later = await world.create({
      content: 'later',
      targets: [{ accountId }],
      scheduledFor: world.later(9 * HOUR),
    })
    const draft = await world.create({ content: 'a draft', targets })
    const { posts } = await preview(accountId)
    expect(posts).toEqual([
      { postId: soon._id, title: 'soon', scheduledFor: soon.scheduledFor },
      { postId: later._id, title: 'later', scheduledFor: later.scheduledFor },
    ])
    expect((await disconnect(accountId)).status).toBe(200)
    const cancelled = { status: 'cancelled', statusReason: { code: 'account_disconnected', whoActs: 'user' } }
    expect((await world.get(soon._id)).targets).toMatchObject([cancelled, { status: 'scheduled', statusReason: null }])
    expect((await world.get(later._id)).targets).toMatchObject([cancelled])
    expect((await world.get(draft._id)).targets).toMatchObject([{ status: 'draft' }, { status: 'draft' }])
    expect((await preview(accountId)).posts).toEqual([])

    world.clock.advance(2 * HOUR)
    await world.until(soon._id, ({ targets: [, second] }) => second?.status === 'published')
    expect((await change('restore', accountId)).status).toBe(200)
    expect((await world.get(soon._id)).targets[0]).toMatchObject(cancelled)
    expect((await world.get(later._id)).targets).toMatchObject([
      { status: 'scheduled', scheduledFor: later.scheduledFor },
    ])
    expect(await world.published('soon')).toEqual([])
  })

  test('before the publishing call cancels the target, and nothing is published', async () => {
    const accountId = await account()
    const fault = { path: '/api/v1/statuses', method: 'POST', kind: 'status', status: 429, retryAfter: 60, times: 1 }
    await addFault(world.app, 'mastodon', fault as never)
    const { _id: id } = await world.create({ content: 'not yet called', targets: [{ accountId }], publishNow: true })
    await world.until(id, ({ targets: [target] }) => target?.nextAttemptAt != null)
    await disconnect(accountId)
    expect(await world.get(id)).toMatchObject({ status: 'cancelled' })
    const after = await world.create({ content: 'after it', targets: [{ accountId: await world.account() }] })
    world.clock.advance(HOUR)
    await world.on(after._id, 'publish')
    await world.ended(after._id, 'published')
    expect(await world.published('not yet called')).toEqual([])
  })

  test('after the publishing call leaves the outcome to the user, and restoring the account checks it', async () => {
    const accountId = await account('x')
    await addFault(world.app, 'x', { path: '/2/tweets', method: 'POST', kind: 'cut', times: 1 })
    const { _id: id } = await world.create({ content: 'called already', targets: [{ accountId }], publishNow: true })
    await world.ended(id, 'unconfirmed')
    await disconnect(accountId)
    expect((await world.get(id)).targets).toMatchObject([
      { status: 'unconfirmed', nextAttemptAt: null, statusReason: { code: 'outcome_unknown', whoActs: 'user' } },
    ])
    const attempts = (await world.get(id)).targets[0]?.attemptCount ?? 0
    await change('restore', accountId)
    await world.until(id, ({ targets: [target] }) => (target?.attemptCount ?? 0) > attempts)
    expect(await world.published('called already', 'x')).toHaveLength(1)
  })
})

describe('an account that cannot be used', () => {
  test('says so at its scheduled targets before they are due', async () => {
    const accountId = await account()
    const { _id: id } = await world.create({
      content: 'held',
      targets: [{ accountId }],
      scheduledFor: world.later(DAY),
    })
    await change('archive', accountId)
    expect((await world.get(id)).targets).toMatchObject([
      { status: 'scheduled', statusReason: { code: 'held', message: 'It is held: the account is archived.' } },
    ])
    await change('unarchive', accountId)
    expect((await world.get(id)).targets).toMatchObject([{ status: 'scheduled', statusReason: null }])
  })

  test('is named at what was not published when it is deleted for good', async () => {
    const accountId = await account()
    const { _id: id } = await world.create({
      content: 'left behind',
      targets: [{ accountId }],
      scheduledFor: world.later(DAY),
    })
    await disconnect(accountId)
    const { socialAccounts, turns } = world.app.composition.services
    world.clock.advance(31 * DAY)
    expect(await socialAccounts.lifecycle.expired()).toContainEqual({ id: accountId, workspaceId: world.workspaceId })
    await turns.system(world.workspaceId, purgeAccount, { accountId })
    expect((await world.get(id)).targets).toMatchObject([
      { status: 'cancelled', statusReason: { code: 'account_deleted' } },
    ])
  })
})
