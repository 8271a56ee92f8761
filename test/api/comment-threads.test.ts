import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newName } from '../support/stage.ts'
import { PostWorld } from '../support/post-world.ts'
import { seedMember, seedUser, type SeededUser } from '../support/seed.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

let world: PostWorld
let reader: SeededUser
const sockets = new Sockets(() => world.app)

beforeAll(async () => {
  world = await PostWorld.start('threads')
  reader = await seedUser(world.app, 'thread-reader')
  await seedMember(world.app, world.workspaceId, reader, { scopes: ['posts:read'] })
})
afterAll(async () => {
  sockets.end()
  await world.stop()
})

const post = (fields: object = {}) => world.create({ content: newName('post'), ...fields })
const comment = (id: string, body: object) => world.on(id, 'comments', { body })
const call = (method: string, action: string, id: string, commentId: string, by: SeededUser, body?: object) =>
  world.app.send(`${method} /api/posts/{id}/comments/{commentId}${action}`, {
    apiKey: by.apiKey,
    path: { id, commentId },
    ...(body && { body }),
  })
const edit = (id: string, commentId: string, body: object, by = world.owner) =>
  call('PATCH', '', id, commentId, by, body)

describe('a comment', () => {
  test('is edited by its author only, which its readers see', async () => {
    const listening = await sockets.connect(reader.apiKey)
    const { _id: id } = await post()
    const { _id } = (await comment(id, { body: 'Frist' })).body.data
    const refused = await edit(id, _id, { body: 'Mine' }, reader)
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('Only the author')])
    const changed = (await edit(id, _id, { body: 'First', mentions: [reader.id] })).body.data
    expect(changed).toMatchObject({ body: 'First', mentions: [reader.id], editedAt: expect.any(String) })
    expect((await world.on(id, 'GET comments')).body.data).toEqual([changed])
    await waitFor(() => {
      const data = listening.events.filter(({ name }) => name === 'postComment.updated').map(({ data }) => data)
      expect(data).toContainEqual(expect.objectContaining({ data: changed }))
      return true
    })
    expect((await world.app.outbox.newest(reader.email, /mentioned you/)).text).toContain('First')
  })

  test('is resolved and reopened by any reader, with its thread', async () => {
    const { _id: id } = await post()
    const { _id } = (await comment(id, { body: 'First' })).body.data
    const reply = (await comment(id, { body: 'Second', replyTo: _id })).body.data
    expect(reply.replyTo).toBe(_id)
    const resolved = await call('POST', '/resolve', id, _id, reader)
    expect(resolved.body.data).toMatchObject({ resolvedBy: reader.id, resolvedAt: expect.any(String), editedAt: null })
    expect((await call('POST', '/resolve', id, _id, world.owner)).body.data).toEqual(resolved.body.data)
    expect((await call('POST', '/reopen', id, _id, reader)).body.data).toMatchObject({
      resolvedBy: null,
      resolvedAt: null,
    })
    const refused = await call('POST', '/resolve', id, reply._id, reader)
    expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('This is a reply')])
  })

  test('has one level of replies, on the same post, which go with it', async () => {
    const [{ _id: id }, other] = [await post(), await post()]
    const { _id } = (await comment(id, { body: 'First' })).body.data
    const { _id: replyId } = (await comment(id, { body: 'Second', replyTo: _id })).body.data
    for (const [postId, replyTo] of [
      [id, replyId],
      [other._id, _id],
      [id, id],
    ] as const) {
      expect((await comment(postId, { body: 'Third', replyTo })).body.errors).toMatchObject([{ path: '/body/replyTo' }])
    }
    expect((await call('DELETE', '', id, _id, world.owner)).status).toBe(200)
    expect((await world.on(id, 'GET comments')).body.data).toEqual([])
  })

  test('is about a rectangle of a picture of the post, or a run of its words', async () => {
    const [mine, foreign] = [await world.picture(), await world.picture()]
    const { _id: id } = await post({ content: 'We launch on Monday', media: [{ assetId: mine }] })
    const rectangle = { assetId: mine, left: 0.25, top: 0.5, width: 0.5, height: 0.5 }
    const onPicture = await comment(id, { body: 'Crop this', anchor: { asset: rectangle } })
    expect(onPicture.body.data.anchor).toEqual({ asset: rectangle, textRange: null })
    const onWords = await comment(id, {
      body: 'Or Tuesday?',
      anchor: { textRange: { part: 0, offset: 13, length: 6 } },
    })
    expect(onWords.body.data.anchor).toEqual({
      asset: null,
      textRange: { part: 0, offset: 13, length: 6, quotedText: 'Monday' },
    })
    const wrong = {
      '/body/anchor': [{}, { asset: rectangle, textRange: { part: 0, offset: 0, length: 1 } }],
      '/body/anchor/asset': [{ asset: { ...rectangle, left: 0.75 } }, { asset: { ...rectangle, width: 0 } }],
      '/body/anchor/asset/assetId': [{ asset: { ...rectangle, assetId: foreign } }],
      '/body/anchor/textRange/part': [{ textRange: { part: 1, offset: 0, length: 1 } }],
      '/body/anchor/textRange/length': [
        { textRange: { part: 0, offset: 3, length: 0 } },
        { textRange: { part: 0, offset: 14, length: 6 } },
      ],
    }
    for (const [path, anchors] of Object.entries(wrong)) {
      for (const anchor of anchors) {
        const reply = await comment(id, { body: 'Wrong', anchor })
        expect([reply.status, reply.body.errors?.[0]?.path], JSON.stringify(anchor)).toEqual([400, path])
      }
    }
    const cleared = await edit(id, onWords.body.data._id, { anchor: null })
    expect(cleared.body.data).toMatchObject({ anchor: null, body: 'Or Tuesday?' })
  })
})

describe('guests', () => {
  test('see comments for guests, and never internal ones or what answers them', async () => {
    const flow = await world.send('PUT /api/approvals/{workspaceId}/flow', {
      path: { workspaceId: world.workspaceId },
      body: { stages: [{ name: 'Client', approvers: { guests: true } }] },
    })
    expect(flow.status, flow.text).toBe(200)
    const { _id: id } = await post({
      scheduledFor: '2099-11-30T09:00',
      timezone: 'Europe/Berlin',
      targets: [{ accountId: await world.account() }],
    })
    const secret = (await comment(id, { body: 'The client is <slow>' })).body.data
    const open = (await comment(id, { body: 'Is the <logo> right?', visibility: 'guests' })).body.data
    await comment(id, { body: 'An answer for them', replyTo: open._id })
    await comment(id, { body: 'Our own answer', replyTo: open._id, visibility: 'internal' })
    const leak = await comment(id, { body: 'Leak', replyTo: secret._id, visibility: 'guests' })
    expect(leak.body.errors).toMatchObject([{ path: '/body/visibility', code: 'internal' }])
    const made = await world.app.send('POST /api/approvals/{workspaceId}/guests', {
      apiKey: world.owner.apiKey,
      path: { workspaceId: world.workspaceId },
      body: { name: 'Client', postId: id },
    })
    expect(made.status, made.text).toBe(201)
    const page = async () => (await fetch(made.body.data.url, { redirect: 'follow' })).text()
    const first = await page()
    expect(first).toContain('Is the &lt;logo&gt; right?')
    expect(first).toContain('An answer for them')
    for (const hidden of ['slow', 'Our own answer', world.owner.email]) expect(first).not.toContain(hidden)
    expect((await edit(id, open._id, { visibility: 'internal' })).status).toBe(200)
    expect(await page()).not.toContain('An answer for them')
    await edit(id, open._id, { visibility: 'guests' })
    await call('POST', '/resolve', id, open._id, world.owner)
    expect(await page()).not.toContain('logo')
  })
})
