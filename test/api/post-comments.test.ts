import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newName } from '../support/stage.ts'
import { PostWorld } from '../support/post-world.ts'
import { seedMember, seedUser, type SeededUser } from '../support/seed.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

let world: PostWorld
let reader: SeededUser
let outsider: SeededUser
const sockets = new Sockets(() => world.app)

beforeAll(async () => {
  world = await PostWorld.start('comments')
  reader = await seedUser(world.app, 'comment-reader')
  outsider = await seedUser(world.app, 'comment-outsider')
  await seedMember(world.app, world.workspaceId, reader, { scopes: ['posts:read'] })
  await seedMember(world.app, world.workspaceId, outsider, { scopes: ['streams:read'] })
})
afterAll(async () => {
  sockets.end()
  await world.stop()
})

const comment = (id: string, body: object) => world.on(id, 'comments', { body })
const remove = (id: string, commentId: string, by: SeededUser) =>
  world.app.send('DELETE /api/posts/{id}/comments/{commentId}', { apiKey: by.apiKey, path: { id, commentId } })
const post = () => world.create({ content: newName('post') })

describe('comments on a post', () => {
  test('are listed newest first with author and attachments, and announced', async () => {
    const listening = await sockets.connect(reader.apiKey)
    const { _id: id } = await post()
    const assetId = await world.picture()
    const first = (await comment(id, { body: 'First' })).body.data
    const second = (await comment(id, { body: 'Second', attachments: [assetId] })).body.data
    expect(second).toMatchObject({ postId: id, actor: { _id: world.owner.id, name: world.owner.name } })
    expect(second.attachments).toMatchObject([{ assetId, type: 'image/png' }])
    const { data } = (await world.on(id, 'GET comments')).body
    expect(data.map(({ body }: { body: string }) => body)).toEqual(['Second', 'First'])
    const seen = (name: string, fields: object) =>
      waitFor(() => {
        const data = listening.events.filter((event) => event.name === name).map((event) => event.data)
        expect(data).toContainEqual(expect.objectContaining({ data: expect.objectContaining(fields) }))
        return true
      })
    await seen('postComment.created', { _id: first._id, body: 'First' })
    expect((await remove(id, first._id, world.owner)).status).toBe(200)
    await seen('postComment.deleted', { postCommentId: first._id, postId: id })
    expect((await world.on(id, 'GET comments')).body.data).toHaveLength(1)
  })

  test('send a mail to those mentioned who want one', async () => {
    const { _id: id } = await world.create({ content: 'About the launch' })
    await comment(id, { body: 'Look at this, please', mentions: [reader.id, world.owner.id] })
    const mail = await world.app.outbox.newest(reader.email, /mentioned you/)
    expect(mail.text).toContain('Look at this, please')
    expect(mail.text).toContain('About the launch')
    expect(
      (await world.app.outbox.mails(world.owner.email)).filter(({ subject }) => /mentioned/.test(subject ?? '')),
    ).toEqual([])
    const kinds = { mention: { email: false } }
    await world.app.send('PATCH /api/users/me/settings/notifications', { apiKey: reader.apiKey, body: { kinds } })
    const other = await seedUser(world.app, 'comment-other')
    await seedMember(world.app, world.workspaceId, other, { scopes: ['posts:read'] })
    await comment(id, { body: 'Without mail', mentions: [reader.id, other.id] })
    await world.app.outbox.newest(other.email, /mentioned you/)
    const mails = await world.app.outbox.mails(reader.email)
    expect(mails.filter(({ text }) => text?.includes('Without mail'))).toEqual([])
  })

  test('mention only members who can see posts, and attach only assets of the workspace', async () => {
    const { _id: id } = await post()
    const nobody = await comment(id, { body: 'Hi', mentions: [reader.id, outsider.id] })
    expect(nobody.status).toBe(400)
    expect(nobody.body.errors).toMatchObject([{ path: '/body/mentions/1', code: 'no_member' }])
    const unknown = await comment(id, { body: 'Hi', attachments: [id] })
    expect(unknown.body.errors).toMatchObject([{ path: '/body/attachments/0', code: 'unknown' }])
    expect((await world.on(id, 'GET comments')).body.data).toEqual([])
  })

  test('are deleted by their author, or with team:manage', async () => {
    const { _id: id } = await post()
    const { _id: commentId } = (await comment(id, { body: 'Mine' })).body.data
    const refused = await remove(id, commentId, reader)
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    const path = { id }
    const body = { body: 'Theirs' }
    const theirs = await world.app.send('POST /api/posts/{id}/comments', { apiKey: reader.apiKey, path, body })
    expect(theirs.status).toBe(201)
    expect((await remove(id, theirs.body.data._id, world.owner)).status).toBe(200)
    expect((await remove(id, theirs.body.data._id, world.owner)).status).toBe(404)
    const other = await post()
    expect((await remove(other._id, commentId, world.owner)).status).toBe(404)
  })

  test('of a deleted post are gone', async () => {
    const { _id: id } = await post()
    await comment(id, { body: 'Soon gone' })
    await world.on(id, 'DELETE ')
    expect((await world.on(id, 'GET comments')).status).toBe(404)
    expect((await comment(id, { body: 'Too late' })).status).toBe(404)
  })
})
