import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { breakAccount, reviewAccount } from '../../src/domains/social/accounts/turns.ts'
import { startApp, type App } from '../support/app.ts'
import { signInAtSandbox } from '../support/sandbox-sign-in.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let workspaceId: string
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  app = await startApp({ clock })
  owner = await seedUser(app, 'owner')
  workspaceId = await seedWorkspace(app, 'Upkeep', owner)
})
afterAll(() => app.stop())

async function account(workspace = workspaceId): Promise<string> {
  const body = { workspaceId: workspace, platform: 'telegram', sandbox: true }
  const reply = await app.send('POST /api/social-accounts', { apiKey: owner.apiKey, body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id as string
}

/** Sets when the access ends, and runs the review of the accounts. */
async function reviewAt(id: string, leftMs: number): Promise<void> {
  const end = new Date(clock.now() + leftMs).toISOString()
  await app.database.run('update social_accounts set expires_at = $1 where id = $2', [end, id])
  await review()
}

async function review(): Promise<void> {
  const { socialAccounts } = app.composition.services
  for (const row of await socialAccounts.upkeep.ending()) {
    await app.composition.turns.system(row.workspaceId, reviewAccount, { accountId: row.id })
  }
}

const subjects = async () => (await app.outbox.mails(owner.email)).map(({ subject }) => subject)

describe('an access that ends', () => {
  test('is announced 7 days and 1 day before, once each', async () => {
    const id = await account()
    await reviewAt(id, 8 * DAY)
    await reviewAt(id, 7 * DAY - HOUR)
    await review()
    await waitFor(async () => (await subjects()).some((subject) => subject?.includes('ends in 7 days')))
    await reviewAt(id, DAY - MINUTE)
    await review()
    await waitFor(async () => (await subjects()).some((subject) => subject?.includes('ends in a day')))
    expect((await subjects()).filter((subject) => subject?.includes('ends in'))).toHaveLength(2)
    const { body } = await app.send('GET /api/social-accounts/{id}', { apiKey: owner.apiKey, path: { id } })
    expect(body.data.status).toBe('expiring')
  })

  test('is announced when it has ended, and names what the platform reported', async () => {
    const id = await account()
    await app.composition.turns.system(workspaceId, breakAccount, { accountId: id, reason: 'token revoked by user' })
    const mail = await app.outbox.newest(owner.email, /Connect .* again/)
    expect(mail.text).toContain('token revoked by user')
  })
})

describe('one account in two workspaces', () => {
  test('is allowed with a notice, and disconnecting it in one keeps the access of the other', async () => {
    const second = await seedWorkspace(app, 'Second', owner)
    const signIn = (workspace: string) =>
      signInAtSandbox(app, { apiKey: owner.apiKey, workspaceId: workspace, platform: 'mastodon', account: 'shared' })
    expect(await (await signIn(workspaceId)).text()).not.toContain('another workspace')
    expect(await (await signIn(second)).text()).toContain(
      'The same account is connected to another workspace of this server. They share its limits.',
    )
    const idIn = async (workspace: string) => {
      const query = { workspaceId: workspace, platform: 'mastodon' }
      const { body } = await app.send('GET /api/social-accounts', { apiKey: owner.apiKey, query })
      return body.data[0]._id as string
    }
    const removed = await idIn(workspaceId)
    const kept = await idIn(second)
    const gone = await app.send('DELETE /api/social-accounts/{id}', { apiKey: owner.apiKey, path: { id: removed } })
    expect(gone.status).toBe(200)
    await app.composition.services.socialAccounts.upkeep.revoke(removed)
    const refreshed = await app.send('POST /api/social-accounts/{id}/refresh', {
      apiKey: owner.apiKey,
      path: { id: kept },
    })
    expect([refreshed.status, refreshed.body.data?.status]).toEqual([200, 'connected'])
  })
})

test('an administrator rotates the keys, and accounts stay usable', async () => {
  const admin = await seedUser(app, 'admin', { admin: true })
  const id = await account()
  const keyOf = async () =>
    (await app.database.row<{ key_id: string }>('select key_id from social_credentials where account_id = $1', [id]))
      ?.key_id
  const reply = await app.send('POST /api/keys/rotate', { apiKey: admin.apiKey })
  expect([reply.status, reply.body.data.credentialCount]).toEqual([202, expect.any(Number)])
  await waitFor(async () => (await keyOf()) === reply.body.data.keyId)
  const refreshed = await app.send('POST /api/social-accounts/{id}/refresh', { apiKey: owner.apiKey, path: { id } })
  expect(refreshed.status, refreshed.text).toBe(200)
  expect((await app.send('POST /api/keys/rotate', { apiKey: owner.apiKey })).status).toBe(403)
})

test('creator info is read once in ten minutes, and the last answer is returned during an outage', async () => {
  const body = { workspaceId, platform: 'mastodon', sandbox: true }
  const { body: created } = await app.send('POST /api/social-accounts', { apiKey: owner.apiKey, body })
  const path = { id: created.data._id as string }
  const sandbox = app.node.resources.config.PLATFORMS['mastodon']?.apiUrl ?? ''
  const info = async () =>
    (await app.send('GET /api/social-accounts/{id}/creator-info', { apiKey: owner.apiKey, path })).body.data
  const fail = { path: '/api/v2/instance', kind: 'status', status: 503, times: 1 }
  const first = await info()
  expect(first).toMatchObject({ isCurrent: true, limits: { 'text.max': 500 } })
  await fetch(`${sandbox}/_sandbox/faults`, { method: 'POST', body: JSON.stringify(fail), headers: JSON_BODY })
  expect(await info()).toEqual(first)
  clock.advance(10 * MINUTE)
  expect(await info()).toEqual({ ...first, isCurrent: false })
  expect(await info()).toMatchObject({ isCurrent: true, checkedAt: new Date(clock.now()).toISOString() })
})

const JSON_BODY = { 'Content-Type': 'application/json' }
