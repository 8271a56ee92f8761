import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { randomOf } from '../support/random.ts'
import type { Reply } from '../support/send.ts'
import { World } from '../support/world.ts'

/** How many posts a workspace has in each state. */

let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
})
afterAll(() => app?.stop())

async function call(route: string, options: object = {}): Promise<Reply> {
  const reply = await world.as('ada').call(route, options)
  expect(reply.status, reply.text).toBeLessThan(300)
  return reply
}

const counts = (workspaceId: string) =>
  app.database.rows<object>(
    `select status, has_time, approval, stage, post_count from post_counts
     where workspace_id = $1 and post_count <> 0 order by 1, 2, 3, 4`,
    [workspaceId],
  )

/** Compares what the triggers have counted with the posts. */
async function expectCounted(workspaceId: string): Promise<void> {
  const kept = await counts(workspaceId)
  await app.database.run('select post_recount(array[$1::uuid])', [workspaceId])
  expect(kept).toEqual(await counts(workspaceId))
}

async function account(workspaceId: string): Promise<string> {
  return (await call('POST /api/social-accounts', { body: { workspaceId, platform: 'mastodon', sandbox: true } })).body
    .data._id
}

test('follow posts through all changes of requests', async () => {
  const workspaceId = await world.workspace('counted', 'ada')
  const targets = [{ accountId: await account(workspaceId) }]
  const later = { scheduledFor: '2099-11-30T09:00:00Z' }
  const ids: string[] = []
  for (let count = 0; count < 6; count += 1) {
    const body = { workspaceId, content: `Post ${count}`, targets, ...(count % 2 === 0 && later) }
    ids.push((await call('POST /api/posts', { body })).body.data._id)
  }
  const posts = Array.from({ length: 5 }, (_, count) => ({ content: `Bulk ${count}`, targets, ...later }))
  const bulk = await call('POST /api/posts/bulk', { body: { workspaceId, posts } })
  await call('POST /api/posts/{id}/reschedule', { path: { id: ids[1] }, body: later })
  await call('POST /api/posts/{id}/cancel', { path: { id: ids[0] } })
  await call('DELETE /api/posts/{id}', { path: { id: ids[2] } })
  await call('POST /api/posts/bulk-delete', { body: { workspaceId, ids: [ids[3]] } })
  const dashboard = await call('GET /api/posts/dashboard', { query: { workspaceId } })
  const rows = await app.database.rows<{ id: string }>(
    'select id from posts where workspace_id = $1 and deleted_at is null and scheduled_at is null',
    [workspaceId],
  )
  expect(dashboard.body.data.unscheduledCount).toBe(rows.length)
  await expectCounted(workspaceId)
  await call('DELETE /api/posts/batches/{batchId}', { path: { batchId: bulk.body.data.batchId } })
  await expectCounted(workspaceId)
})

test('follow each combination of state, time, approval and deletion', async () => {
  const workspaceId = await world.workspace('combined', 'ada')
  const targets = [{ accountId: await account(workspaceId) }]
  const ids: string[] = []
  for (let count = 0; count < 5; count += 1) {
    ids.push(
      (await call('POST /api/posts', { body: { workspaceId, content: `Post ${count}`, targets } })).body.data._id,
    )
  }
  const random = randomOf(3)
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T
  for (let step = 0; step < 100; step += 1) {
    await app.database.run(
      `update posts set status = $2, scheduled_at = $3, approval = $4, deleted_at = $5
       where workspace_id = $1 and id = any($6::uuid[])`,
      [
        workspaceId,
        pick(['draft', 'in_review', 'ready', 'published']),
        pick([null, '2099-01-01T00:00:00Z']),
        pick([
          null,
          '{"status":"open","stage":1}',
          '{"status":"open","stage":2}',
          '{"status":"changes_requested","stage":null}',
        ]),
        pick([null, null, '2026-01-01T00:00:00Z']),
        ids.filter(() => random() < 0.5),
      ],
    )
  }
  await expectCounted(workspaceId)
  const checks = app.composition.services.workspaces.counts
  const before = await counts(workspaceId)
  await checks.run(AbortSignal.timeout(60_000))
  expect(app.logs.filter(({ msg }) => msg?.includes('counted again'))).toEqual([])
  await app.database.run('update post_counts set post_count = post_count + 1 where workspace_id = $1', [workspaceId])
  await checks.run(AbortSignal.timeout(60_000))
  expect(await counts(workspaceId)).toEqual(before)
  await app.database.run('delete from posts where workspace_id = $1 and id = any($2::uuid[])', [
    workspaceId,
    ids.slice(0, 3),
  ])
  await expectCounted(workspaceId)
})
