import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY, HOUR } from '../../src/core/clock.ts'
import type { BulkResultData } from '../../src/domains/publishing/writing/bulk/schemas.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { PostWorld, expectStatus } from '../support/post-world.ts'
import { seedMember, seedUser, type SeededUser } from '../support/seed.ts'

/** Every way into the schedule leads through the approval flow. */

let world: PostWorld
let ann: SeededUser
let writer: SeededUser
beforeAll(async () => {
  world = await PostWorld.start('approval-entries')
  ann = await seedUser(world.app, 'ann')
  writer = await seedUser(world.app, 'writer')
  await seedMember(world.app, world.workspaceId, ann, { role: 'editor' })
  await seedMember(world.app, world.workspaceId, writer, { role: 'contributor' })
})
afterAll(() => world.stop())

const path = () => ({ workspaceId: world.workspaceId })

async function flow(): Promise<void> {
  const stages = [{ name: 'Legal', approvers: { userIds: [ann.id] } }]
  expectStatus(await world.send('PUT /api/approvals/{workspaceId}/flow', { path: path(), body: { stages } }), 200)
}

beforeEach(async () => {
  await world.send('DELETE /api/approvals/{workspaceId}/flow', { path: path() })
})

const decide = (id: string, decision: string, comment?: string) =>
  world.app.send('POST /api/posts/{id}/approval', { apiKey: ann.apiKey, path: { id }, body: { decision, comment } })

async function bulk(body: object): Promise<BulkResultData> {
  const reply = await world.app.send('POST /api/posts/bulk', {
    apiKey: writer.apiKey,
    body: { workspaceId: world.workspaceId, ...body },
  })
  return expectStatus(reply, 201).data
}

const ids = ({ rows }: BulkResultData) => rows.map(({ postId }) => postId ?? '')

describe('bulk requests', () => {
  test('put posts with a time into review, from JSON and from CSV, and leave drafts', async () => {
    await flow()
    const accountId = await world.account()
    const targets = [{ accountId }]
    const scheduledFor = world.later(HOUR)
    const posts = [
      { content: 'bulk timed', targets, scheduledFor },
      { content: 'bulk draft', targets },
    ]
    const csv = `Content,Scheduled For,Accounts\nbulk of a sheet,${scheduledFor},${accountId}`
    const [timed = '', draft = ''] = ids(await bulk({ posts }))
    const [sheet = ''] = ids(await bulk({ csv }))
    for (const id of [timed, sheet]) {
      expect(await world.get(id)).toMatchObject({ status: 'in_review', scheduledFor, approval: { status: 'open' } })
    }
    expect(await world.get(draft)).toMatchObject({ status: 'draft', approval: null })
    expectStatus(await decide(timed, 'approve'), 200)
    expect(await world.get(timed)).toMatchObject({ status: 'scheduled', approval: { status: 'approved' } })
    world.clock.advance(HOUR)
    await world.ended(timed, 'published')
    expect(await world.published('bulk of a sheet')).toEqual([])
    expect(await world.get(sheet)).toMatchObject({ status: 'in_review' })
  })
})

describe('a restored version', () => {
  test('goes into review again if approvers see a difference', async () => {
    await flow()
    const targets = [{ accountId: await world.account() }]
    const { _id: id } = await world.create({ content: 'restored', targets, scheduledFor: world.later(HOUR) })
    expectStatus(await world.on(id, 'PATCH ', { body: { content: 'newer' } }), 200)
    expectStatus(await decide(id, 'approve'), 200)
    expectStatus(await world.on(id, 'versions/{version}/restore', { path: { version: '1' } }), 200)
    expect(await world.get(id)).toMatchObject({ content: 'restored', status: 'in_review', approval: { stage: 1 } })
  })
})

describe('an account that is connected again', () => {
  const reconnect = async (accountId: string, between: () => Promise<void>) => {
    expectStatus(await world.send('DELETE /api/social-accounts/{id}', { path: { id: accountId } }), 200)
    await between()
    expectStatus(await world.send('POST /api/limits/accounts/{id}/restore', { path: { id: accountId } }), 200)
  }
  const timed = async (accountId: string, content: string): Promise<PostData> =>
    world.create({ content, targets: [{ accountId }], scheduledFor: world.later(DAY) })

  test('schedules what is still approved', async () => {
    await flow()
    const accountId = await world.account('mastodon', 'approved')
    const { _id: id } = await timed(accountId, 'still approved')
    expectStatus(await decide(id, 'approve'), 200)
    await reconnect(accountId, async () => {
      expect(await world.get(id)).toMatchObject({ status: 'cancelled' })
    })
    expect(await world.get(id)).toMatchObject({ status: 'scheduled', approval: { status: 'approved' } })
  })

  test('puts what was scheduled before there was a flow into review', async () => {
    const accountId = await world.account('mastodon', 'before the flow')
    const { _id: id } = await timed(accountId, 'never approved')
    await reconnect(accountId, flow)
    expect(await world.get(id)).toMatchObject({ status: 'in_review', approval: { status: 'open' } })
  })
})

test('the creator of a post and who submitted it get a mail when it needs changes, if their settings allow it', async () => {
  await flow()
  const [bob, cora] = [await seedUser(world.app, 'bob'), await seedUser(world.app, 'cora')]
  for (const user of [bob, cora]) await seedMember(world.app, world.workspaceId, user, { role: 'editor' })
  for (const [user, email] of [
    [writer, true],
    [bob, true],
    [cora, false],
  ] as const) {
    const body = { kinds: { approvalDecided: { email } } }
    const options = { apiKey: user.apiKey, body }
    expectStatus(await world.app.send('PATCH /api/users/me/settings/notifications', options), 200)
  }
  const targets = [{ accountId: await world.account() }]
  for (const submitter of [cora, bob]) {
    const post = { workspaceId: world.workspaceId, content: `by ${submitter.id}`, targets }
    const made = await world.app.send('POST /api/posts', { apiKey: writer.apiKey, body: post })
    const { _id: id } = expectStatus(made, 201).data
    expectStatus(await world.app.send('POST /api/posts/{id}/submit', { apiKey: submitter.apiKey, path: { id } }), 200)
    expectStatus(await decide(id, 'request_changes', 'A shorter text'), 200)
  }
  for (const { email } of [writer, bob]) {
    const mail = await world.app.outbox.newest(email, /needs changes/)
    expect(mail.text).toContain('A shorter text')
  }
  const subjects = (await world.app.outbox.mails(cora.email)).map(({ subject }) => subject)
  expect(subjects.filter((subject) => /needs changes/.test(subject ?? ''))).toEqual([])
})
