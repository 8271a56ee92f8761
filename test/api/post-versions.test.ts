import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR } from '../../src/core/clock.ts'
import { PostWorld } from '../support/post-world.ts'

let world: PostWorld
beforeAll(async () => void (world = await PostWorld.start('versions')))
afterAll(() => world.stop())

const versions = async (id: string, query = {}) => (await world.on(id, 'GET versions', { query })).body
const restore = (id: string, version: number, headers = {}) =>
  world.on(id, 'POST versions/{version}/restore', { path: { version: String(version) }, headers })
const edit = (id: string, body: object) => world.on(id, 'PATCH ', { body })

describe('versions of a post', () => {
  test('have their author and the difference from the version before', async () => {
    const accountId = await world.account()
    const { _id: id } = await world.create({ content: 'The quick fox', targets: [{ accountId }], labels: ['a'] })
    await edit(id, { content: 'The slow fox', labels: ['a', 'b'] })
    await world.on(id, 'reschedule', { body: { scheduledFor: world.later(HOUR) } })
    const { data, pagination } = await versions(id)
    expect(pagination).toMatchObject({ hasMore: false })
    expect(data.map(({ kind, version }: { kind: string; version: number }) => [version, kind])).toEqual([
      [3, 'rescheduled'],
      [2, 'edited'],
      [1, 'created'],
    ])
    const [{ changes: times }, { changes, actor, content }, first] = data
    expect(times).toMatchObject({ parts: ['times'], scheduledFor: { before: null } })
    expect(actor).toEqual({ _id: world.owner.id, name: world.owner.name, email: world.owner.email })
    expect(content).toBe('The slow fox')
    expect(changes.parts).toEqual(['text', 'labels'].filter((part) => changes.parts.includes(part)))
    expect(changes.content).toContainEqual({ kind: 'insert', text: 'slow' })
    expect(first).toMatchObject({ changes: null, content: 'The quick fox', targets: [{ accountId, override: null }] })
  })

  test('are compared across pages', async () => {
    const { _id: id } = await world.create({ content: 'one' })
    await edit(id, { content: 'two' })
    const { data, pagination } = await versions(id, { limit: 1 })
    expect(data[0].changes.parts).toEqual(['text'])
    const rest = await versions(id, { limit: 1, cursor: pagination.nextCursor })
    expect(rest.data).toMatchObject([{ version: 1, changes: null }])
  })

  test('with long texts fill a page early, and the next page follows', async () => {
    const long = (index: number) => `Edition ${index}. ${'lorem ipsum '.repeat(5_400)}`
    const { _id: id } = await world.create({ content: long(1) })
    for (let index = 2; index <= 17; index += 1) await edit(id, { content: long(index) })
    const first = await versions(id, { limit: 100 })
    expect(first.data.length).toBeLessThan(17)
    expect(first.pagination).toMatchObject({ hasMore: true })
    const rest = await versions(id, { limit: 100, cursor: first.pagination.nextCursor })
    const all = [...first.data, ...rest.data] as { version: number; changes: { content: object[] } | null }[]
    expect(all.map(({ version }) => version)).toEqual(Array.from({ length: 17 }, (_, index) => 17 - index))
    expect(all[12]?.changes?.content).toContainEqual({ kind: 'insert', text: '5' })
    expect(all.filter(({ changes }) => changes === null)).toHaveLength(1)
  })

  test('are not shown of a post that does not exist or is deleted', async () => {
    const { _id: id } = await world.create({ content: 'gone' })
    await world.on(id, 'DELETE ')
    expect((await world.on(id, 'GET versions')).status).toBe(404)
  })
})

describe('restoring a version', () => {
  test('makes a new version with the old content and accounts, and keeps the time', async () => {
    const accountId = await world.account()
    const other = await world.account('bluesky')
    const { _id: id } = await world.create({
      content: 'first',
      title: 'Title',
      labels: ['old'],
      targets: [{ accountId, override: { content: 'own' } }, { accountId: other }],
    })
    const scheduledFor = world.later(HOUR)
    await edit(id, { content: 'second', title: null, labels: [], targets: [{ accountId }], scheduledFor })
    const restored = (await restore(id, 1)).body.data
    expect(restored).toMatchObject({ version: 3, content: 'first', title: 'Title', labels: ['old'], scheduledFor })
    expect(restored).toMatchObject({ status: 'scheduled' })
    expect(restored.targets).toMatchObject([
      { accountId, override: { content: 'own' }, scheduledFor },
      { accountId: other, override: null, scheduledFor },
    ])
    expect((await versions(id)).data[0]).toMatchObject({ kind: 'restored', version: 3 })
  })

  test('keeps the own time of a target', async () => {
    const accountId = await world.account()
    const own = world.later(3 * HOUR)
    const targets = [{ accountId, override: { scheduledFor: own } }]
    const { _id: id } = await world.create({ content: 'first', targets, scheduledFor: world.later(HOUR) })
    await edit(id, { content: 'second' })
    expect((await restore(id, 1)).body.data.targets).toMatchObject([{ scheduledFor: own, status: 'scheduled' }])
  })

  test('refuses an unknown version, and an edit that the caller has not seen', async () => {
    const { _id: id } = await world.create({ content: 'first' })
    expect((await restore(id, 9)).status).toBe(404)
    await edit(id, { content: 'second' })
    const stale = await restore(id, 1, { 'if-match': '"1"' })
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed'])
    expect((await restore(id, 1, { 'if-match': '"2"' })).status).toBe(200)
  })

  test('is checked again, and cannot take away an account at which the post is published', async () => {
    const mastodon = await world.account()
    const x = await world.account('x')
    const long = { content: 'x'.repeat(400), targets: [{ accountId: mastodon }] }
    const { _id: id } = await world.create(long)
    await edit(id, { content: 'short', targets: [{ accountId: mastodon }, { accountId: x }] })
    await world.on(id, 'publish')
    await world.ended(id, 'published')
    const refused = await restore(id, 1)
    expect([refused.status, refused.body.code]).toEqual([409, 'post_state_conflict'])
    const post = await world.create({ ...long, targets: [{ accountId: x }], draft: true })
    await edit(post._id, { content: 'short' })
    const invalid = await restore(post._id, 1)
    expect([invalid.status, invalid.body.code]).toEqual([400, 'platform_validation_failed'])
  })
})
