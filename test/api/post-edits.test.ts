import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MINUTE } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import type { Fault } from '../../sandbox/faults.ts'
import { PostWorld } from '../support/post-world.ts'
import { addFault } from '../support/sandbox-faults.ts'
import { waitFor } from '../support/wait.ts'

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('post-edits')))
afterAll(() => world.stop())

const edit = (id: string, body: object) => world.on(id, 'PATCH ', { body })
const fault = (given: Omit<Fault, 'path' | 'times'>) =>
  addFault(world.app, 'mastodon', { path: '/api/v1/statuses/', method: 'PUT', times: 1, ...given })

async function published(content: string, platform = 'mastodon', more = {}): Promise<PostData> {
  const targets = [{ accountId: await world.account(platform) }]
  const { _id: id } = await world.create({ content, targets, publishNow: true, ...more })
  return world.ended(id, 'published')
}

async function attempts(id: string) {
  return world.app.database.rows<{ kind: string; ended_at: string | null }>(
    `select a.kind, a.ended_at from post_attempts a join post_targets t on t.id = a.target_id
     where t.post_id = $1 order by a.started_at, a.kind`,
    [id],
  )
}

describe('an edit of a published post', () => {
  test('is made at the platform, and moves the published version', async () => {
    const { _id: id } = await published('a text with a mistaek')
    const reply = (await edit(id, { content: 'a text without a mistake' })).body.data
    expect(reply).toMatchObject({ version: 2, status: 'published' })
    expect(reply.targets[0]).toMatchObject({
      publishedVersion: 1,
      statusReason: { code: 'editing', whoActs: 'nobody' },
    })
    const edited = await world.until(id, ({ targets }) => targets[0]?.publishedVersion === 2)
    expect(edited.targets[0]).toMatchObject({ status: 'published', statusReason: null })
    expect(await world.published('mistaek')).toEqual([])
    expect((await world.published('a text without')).map(({ text }) => text)).toEqual(['a text without a mistake'])
    expect((await attempts(id)).map(({ kind }) => kind)).toEqual(['edit', 'publish'])
  })

  test('changes only the parts of a thread that differ', async () => {
    const thread = [{ content: 'second of thread' }, { content: 'third of thread' }]
    const { _id: id } = await published('first of thread', 'mastodon', { thread })
    await edit(id, { thread: [{ content: 'second of thread' }, { content: 'third of thread, edited' }] })
    await world.until(id, ({ targets }) => targets[0]?.publishedVersion === 2)
    const texts = (await world.published('of thread')).map(({ text }) => text).toSorted()
    expect(texts).toEqual(['first of thread', 'second of thread', 'third of thread, edited'])
  })

  test('that the platform cannot make says so at once, until the post says again what is published', async () => {
    const { _id: id } = await published('posts at X stay', 'x')
    const { targets } = (await edit(id, { content: 'something else' })).body.data
    expect(targets[0]).toMatchObject({
      publishedVersion: 1,
      statusReason: { code: 'edit_not_possible', whoActs: 'user' },
    })
    expect(targets[0].statusReason.message).toMatch(/X does not let anybody edit/)
    expect((await edit(id, { content: 'posts at X stay' })).body.data.targets[0].statusReason).toBeNull()
    expect(await world.published('posts at X stay', 'x')).toHaveLength(1)
  })

  test('of files says at once that they stay, and changes the text', async () => {
    const media = [await world.picture()]
    const { _id: id } = await published('with a picture', 'mastodon', { media })
    const { targets } = (await edit(id, { content: 'without a picture', media: [] })).body.data
    expect(targets[0].statusReason).toMatchObject({ code: 'editing', whoActs: 'user' })
    expect(targets[0].statusReason.message).toContain('cannot change the files')
    const edited = await world.until(id, ({ targets: [target] }) => target?.publishedVersion === 2)
    expect(edited.targets[0]?.statusReason).toMatchObject({ code: 'edit_not_possible' })
    expect(await world.published('without a picture')).toHaveLength(1)
  })

  test('of labels alone changes nothing at the platform', async () => {
    const { _id: id } = await published('with new labels')
    const { targets } = (await edit(id, { labels: ['new'] })).body.data
    expect(targets[0]).toMatchObject({ publishedVersion: 1, statusReason: null })
    expect((await attempts(id)).map(({ kind }) => kind)).toEqual(['publish'])
  })

  test('during another edit is not lost, and the last one stays', async () => {
    const { _id: id } = await published('edit zero of many')
    await fault({ kind: 'slow', delayMs: 500 })
    await edit(id, { content: 'edit one of many' })
    await waitFor(async () => (await attempts(id)).some(({ kind }) => kind === 'edit'))
    for (const name of ['two', 'three', 'four']) await edit(id, { content: `edit ${name} of many` })
    await world.until(id, ({ targets }) => targets[0]?.publishedVersion === 5)
    expect((await world.published('of many')).map(({ text }) => text)).toEqual(['edit four of many'])
    expect((await world.get(id)).targets[0]?.statusReason).toBeNull()
  })

  test('is repeated after a failure of the platform, and after a lost reply', async () => {
    const { _id: id } = await published('before the failure')
    await fault({ kind: 'status', status: 503 })
    await fault({ kind: 'cut' })
    await edit(id, { content: 'after the failure' })
    await world.passing(id, ({ targets }) => targets[0]?.publishedVersion === 2)
    expect((await world.published('after the failure')).map(({ text }) => text)).toEqual(['after the failure'])
    const kinds = await attempts(id)
    expect(kinds.filter(({ kind }) => kind === 'edit').length).toBeGreaterThanOrEqual(3)
  })

  test('that the platform refuses says why, and can be made again', async () => {
    const { _id: id } = await published('before the refusal')
    await fault({ kind: 'status', status: 422 })
    await edit(id, { content: 'after the refusal' })
    const refused = await world.until(id, ({ targets }) => targets[0]?.statusReason?.code === 'edit_failed')
    expect(refused.targets[0]).toMatchObject({ publishedVersion: 1, status: 'published' })
    expect(refused.targets[0]?.statusReason?.nextStep).toContain('publish it again')
    await edit(id, { labels: ['again'] })
    await world.until(id, ({ targets }) => targets[0]?.publishedVersion === 3)
    expect(await world.published('after the refusal')).toHaveLength(1)
  })
})

describe('an edit and a publication at the same time', () => {
  test('the publication wins if it has begun, and publishes what it began with', async () => {
    const accountId = await world.account()
    const busy = { path: '/api/v1/statuses', method: 'POST', kind: 'status', status: 429, times: 1 } as const
    await addFault(world.app, 'mastodon', busy)
    const { _id: id } = await world.create({ content: 'begun with this', targets: [{ accountId }], publishNow: true })
    await world.until(id, ({ targets }) => targets[0]?.nextAttemptAt != null)
    const late = await edit(id, { content: 'too late for this' })
    expect([late.status, late.body.code]).toEqual([409, 'post_state_conflict'])
    await world.passing(id, ({ status }) => status === 'published')
    expect(await world.published('begun with this')).toHaveLength(1)
  })

  test('the edit wins if it comes first', async () => {
    const accountId = await world.account()
    const scheduledFor = world.later(MINUTE)
    const { _id: id } = await world.create({ content: 'replaced in time', targets: [{ accountId }], scheduledFor })
    await edit(id, { content: 'edited in time' })
    await world.passing(id, ({ status }) => status === 'published')
    expect(await world.published('replaced in time')).toEqual([])
    expect(await world.published('edited in time')).toHaveLength(1)
  })
})
