import { afterAll, beforeAll, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/core/clock.ts'
import type { PublishPart } from '../../src/platforms/publishing.ts'
import { PublicationStage } from '../support/publication.ts'
import { addFault, sandboxPosts } from '../support/sandbox-faults.ts'

/** Outcomes that a platform does not tell are decided by users, with the evidence shown. */

let stage: PublicationStage
beforeAll(async () => {
  stage = await PublicationStage.start()
})
afterAll(() => stage.stop())

function part(text: string, role: PublishPart['role'] = 'post') {
  return { role, text, media: [], options: {} }
}

/** A target whose reply was lost after the platform took the call, or before. */
async function unconfirmed(platform: string, text: string, kind: 'cut' | 'refuse') {
  const targetId = await stage.target(platform, [part(text)])
  await stage.attempt(targetId, {
    point: { when: 'after', write: 'calling', count: 1 },
    happens: async () => {
      await addFault(stage.app, platform, { path: '', kind, times: 1 })
      return 'goes on'
    },
  })
  expect(await stage.read(targetId)).toMatchObject({ status: 'unconfirmed', attemptId: null })
  return targetId
}

async function settle(targetId: string, body: object) {
  const { postId: id } = await stage.read(targetId)
  const options = { apiKey: stage.owner.apiKey, path: { id, targetId }, body }
  return stage.app.send('POST /api/posts/{id}/targets/{targetId}/settle', options)
}

async function act(targetId: string, route: string) {
  const { postId: id } = await stage.read(targetId)
  return stage.app.send(route, { apiKey: stage.owner.apiKey, path: { id } })
}

async function countOf(platform: string, text: string): Promise<number> {
  return (await sandboxPosts(stage.app, platform)).filter((post) => post.text.includes(text)).length
}

test('shows the calls of an unknown outcome, and takes the word that it was published', async () => {
  const targetId = await unconfirmed('telegram', 'seen there', 'cut')
  const attempts = await act(targetId, 'GET /api/posts/{id}/attempts')
  expect(attempts.body.data).toHaveLength(1)
  expect(attempts.body.data[0]).toMatchObject({ targetId, kind: 'publish', status: 'unconfirmed', number: 1 })
  expect(attempts.body.data[0].calls.at(-1)).toMatchObject({ method: 'POST', httpStatus: null })
  expect(attempts.body.data[0].calls.at(-1).url).toContain('sendMessage')
  const url = 'https://t.me/sandbox/1'
  const reply = await settle(targetId, { outcome: 'published', url })
  expect(reply.body.data.targets[0]).toMatchObject({ status: 'published', statusReason: null, url })
  expect((await settle(targetId, { outcome: 'not_published' })).status).toBe(409)
  expect(await countOf('telegram', 'seen there')).toBe(1)
})

test('publishes again after the word that it was not published, and a retry', async () => {
  const targetId = await unconfirmed('telegram', 'not seen', 'refuse')
  expect((await act(targetId, 'POST /api/posts/{id}/retry')).status).toBe(409)
  const reply = await settle(targetId, { outcome: 'not_published' })
  expect(reply.body.data.targets[0]).toMatchObject({ status: 'failed', statusReason: { code: 'not_published' } })
  expect((await act(targetId, 'POST /api/posts/{id}/retry')).status).toBe(200)
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf('telegram', 'not seen')).toBe(1)
})

test('prefers the user to a check that is going on', async () => {
  const targetId = await unconfirmed('x', 'user first', 'cut')
  stage.clock.advance(10 * SECOND)
  await stage.attempt(targetId, {
    // The check has found the post, and is about to store that.
    point: { when: 'before', write: 'published', count: 1 },
    happens: async () => {
      expect((await settle(targetId, { outcome: 'not_published' })).status).toBe(200)
      return 'goes on'
    },
  })
  expect(await stage.read(targetId)).toMatchObject({ status: 'failed' })
})

test('prefers a call that is being made to the user', async () => {
  const targetId = await unconfirmed('x', 'call first', 'refuse')
  stage.clock.advance(2 * MINUTE)
  let answer: number | undefined
  await stage.attempt(targetId, {
    // The check has found nothing, and the call is made again.
    point: { when: 'after', write: 'calling', count: 1 },
    happens: async () => {
      answer = (await settle(targetId, { outcome: 'not_published' })).status
      return 'goes on'
    },
  })
  expect(answer).toBe(409)
  expect(await stage.read(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf('x', 'call first')).toBe(1)
})
