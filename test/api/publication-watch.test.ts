import { afterAll, beforeAll, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { LEASE } from '../../src/domains/publishing/publication/claims/lease.ts'
import { PublicationStage } from '../support/publication.ts'
import { seedUser } from '../support/seed.ts'
import { addFault, sandboxPosts } from '../support/sandbox-faults.ts'

/** What becomes of targets whose job or publisher was lost, and of those that wait for the end of an outage. */

let stage: PublicationStage
beforeAll(async () => {
  stage = await PublicationStage.start()
})
afterAll(() => stage.stop())

const silent = createLog({ level: 'silent' })
const part = (text: string) => ({ role: 'post' as const, text, media: [], options: {} })

/** Runs the watchdog. @returns whether it has added a job for the workspace */
async function watched(): Promise<boolean> {
  const before = await jobCount()
  await stage.services.publication.watchdog.run(silent)
  return (await jobCount()) > before
}

/** The jobs that publish, those that have ended too: on a stage they do nothing. */
async function jobCount(): Promise<number> {
  const row = await stage.app.database.row<{ count: number }>(
    `select count(distinct id) from (
       select id, name, workspace_id from outbox union all select id, name, workspace_id from finished_jobs) jobs
     where name = 'posts.publish' and workspace_id = $1`,
    [stage.workspaceId],
  )
  return row?.count ?? 0
}

async function countOf(text: string, platform = 'mastodon'): Promise<number> {
  return (await sandboxPosts(stage.app, platform)).filter((post) => post.text.includes(text)).length
}

test('adds a job for a target whose job was lost, half a minute after its time', async () => {
  const targetId = await stage.target('mastodon', [part('lost job')])
  stage.clock.advance(29 * SECOND)
  expect(await watched()).toBe(false)
  stage.clock.advance(2 * SECOND)
  expect(await watched()).toBe(true)
  await stage.attempt(targetId)
  expect(await stage.read(targetId)).toMatchObject({ status: 'published' })
  expect(await watched()).toBe(false)
})

test('adds a job for a target whose publisher was killed, as soon as its lease has ended', async () => {
  const targetId = await stage.target('mastodon', [part('lost worker')])
  await stage.attempt(targetId, {
    point: { when: 'after', write: 'calling', count: 1 },
    happens: () => Promise.resolve('killed'),
  })
  stage.clock.advance(LEASE.leaseMs - SECOND)
  expect(await watched()).toBe(false)
  stage.clock.advance(2 * SECOND)
  expect(await watched()).toBe(true)
  await stage.attempt(targetId)
  expect(await stage.read(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf('lost worker')).toBe(1)
})

test('ignores the targets of deleted posts', async () => {
  const targetId = await stage.target('mastodon', [part('deleted')])
  stage.clock.advance(MINUTE)
  const { postId } = await stage.read(targetId)
  const { apiKey } = stage.owner
  expect((await stage.app.send('DELETE /api/posts/{id}', { apiKey, path: { id: postId } })).status).toBe(200)
  expect(await watched()).toBe(false)
  await stage.attempt(targetId)
  expect(await stage.read(targetId)).toMatchObject({ status: 'scheduled', attemptCount: 0 })
  expect(await countOf('deleted')).toBe(0)
})

test('publication takes the target away from a preparation that has not ended', async () => {
  const targetId = await stage.target('mastodon', [part('not waiting')])
  const leaseUntil = new Date(stage.clock.now() + LEASE.leaseMs).toISOString()
  await stage.app.database.run('update post_targets set attempt_id = $1, lease_until = $2 where id = $1', [
    targetId,
    leaseUntil,
  ])
  await stage.attempt(targetId)
  expect(await stage.read(targetId)).toMatchObject({ status: 'published' })
})

test('does not begin the call after the late limit, however long the upload took', async () => {
  const image = {
    kind: 'image',
    type: 'image/jpeg',
    name: 'photo.jpeg',
    bytes: 2_000,
    width: 100,
    height: 100,
  } as const
  const media = [{ ...image, id: stage.file(image.bytes) }]
  const targetId = await stage.target('mastodon', [{ ...part('a slow upload'), media }])
  const startBy = new Date(stage.clock.now() + 10 * SECOND).toISOString()
  await stage.app.database.run('update post_targets set start_by = $1 where id = $2', [startBy, targetId])
  await stage.attempt(targetId, {
    point: { when: 'after', write: 'step', count: 1 },
    happens: () => {
      stage.clock.advance(20 * SECOND)
      return Promise.resolve('goes on')
    },
  })
  expect(await stage.finish(targetId)).toMatchObject({ status: 'missed', problem: { code: 'too_late' } })
  expect(await countOf('a slow upload')).toBe(0)
})

test('does not call a post missed that its platform has and is processing', async () => {
  const video = {
    kind: 'video',
    type: 'video/mp4',
    name: 'film.mp4',
    bytes: 2_000,
    width: 1_080,
    height: 1_920,
  } as const
  const film = { ...part('in the works'), media: [{ ...video, id: stage.file(video.bytes) }] }
  const targetId = await stage.target('tiktok', [{ ...film, options: { privacy_level: 'SELF_ONLY' } }])
  const startBy = new Date(stage.clock.now() + MINUTE).toISOString()
  await stage.app.database.run('update post_targets set start_by = $1 where id = $2', [startBy, targetId])
  await addFault(stage.app, 'tiktok', { path: '/upload/', kind: 'cut', times: 1 })
  await stage.attempt(targetId)
  expect(await stage.read(targetId)).toMatchObject({ status: 'unconfirmed' })
  // TikTok still processes the video when its reply could no longer come late.
  stage.clock.advance(2 * MINUTE)
  await stage.attempt(targetId)
  expect(await stage.read(targetId)).toMatchObject({ status: 'unconfirmed', problem: { code: 'outcome_unknown' } })
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf('in the works', 'tiktok')).toBe(1)
})

test('publishes what waited for the end of an outage in order, one after the other', async () => {
  const ids: string[] = []
  for (const text of ['waited one', 'waited two', 'waited three']) {
    ids.push(await stage.target('mastodon', [part(text)]))
    stage.clock.advance(SECOND)
  }
  stage.clock.advance(10 * MINUTE)
  const restored = stage.clock.now()
  for (const id of ids) await stage.attempt(id)
  const rows = await Promise.all(ids.map((id) => stage.read(id)))
  expect(rows.map(({ status }) => status)).toEqual(['published', 'scheduled', 'scheduled'])
  expect(rows.map(({ nextAttemptAt }) => nextAttemptAt && Date.parse(nextAttemptAt) - restored)).toEqual([
    null,
    1_000,
    2_000,
  ])
  expect(rows[1]?.problem).toMatchObject({ code: 'backlog', whoActs: 'nobody' })
  for (const id of ids) expect(await stage.finish(id)).toMatchObject({ status: 'published' })
})

test('alerts administrators that the scheduler stands still: in readiness, in metrics, and once in the log', async () => {
  const { health, publication } = stage.services
  const scheduler = async () => (await health.readiness()).checks['scheduler']?.details
  const age = async () => {
    const text = await (await fetch(`${stage.app.node.adminUrl}/metrics`)).text()
    return Number(/^crier_publication_heartbeat_age_seconds (\d+)/m.exec(text)?.[1])
  }
  await publication.watchdog.run(silent)
  expect(await scheduler()).toMatchObject({ alive: true, ageSeconds: 0 })
  stage.clock.advance(3 * MINUTE)
  expect(await scheduler()).toMatchObject({ alive: false, ageSeconds: 180 })
  expect(await age()).toBe(180)
  // Requests are still served.
  expect((await health.readiness()).ready).toBe(true)
  // A second look does not repeat it.
  await scheduler()
  const logged = stage.app.logs.filter(({ msg }) => msg?.startsWith('the scheduler of posts stands still'))
  expect(logged).toMatchObject([{ level: 50, ageSeconds: 180 }])
  await publication.watchdog.run(silent)
  expect(await scheduler()).toMatchObject({ alive: true })
  expect(await age()).toBe(0)
  // Standing still again is another alert.
  stage.clock.advance(3 * MINUTE)
  expect(await scheduler()).toMatchObject({ alive: false })
  expect(stage.app.logs.filter(({ msg }) => msg?.startsWith('the scheduler of posts stands still'))).toHaveLength(2)
  await publication.watchdog.run(silent)
})

test('tells administrators once that the scheduler stands still and once that it runs again, without jobs', async () => {
  const { heartbeat, watchdog } = stage.services.publication
  const { database, outbox } = stage.app
  const root = await seedUser(stage.app, 'root', { admin: true })
  const told = async () => {
    const rows = await database.rows<{ type: string; userId: string; data: object }>(
      `select type, data, user_id as "userId" from notifications where type like 'scheduler.%' order by id`,
    )
    expect(rows.every(({ userId }) => userId === root.id)).toBe(true)
    const mails = (await outbox.mails()).filter(({ subject }) => /scheduler|published again/.test(subject ?? ''))
    return { inApp: rows.map(({ data, type }) => [type, data]), mails: mails.map(({ subject }) => subject) }
  }
  // Two nodes look at the same time, and later again.
  const look = () => Promise.all([heartbeat.watch(), heartbeat.watch()])
  await watchdog.run(silent)
  await look()
  expect(await told()).toEqual({ inApp: [], mails: [] })

  stage.clock.advance(3 * MINUTE)
  await look()
  stage.clock.advance(MINUTE)
  await look()
  const stopped = ['scheduler.stopped', { minutes: 3 }]
  const subject = 'Posts are not published: the scheduler stands still'
  expect(await told()).toEqual({ inApp: [stopped], mails: [subject] })
  expect((await outbox.newest(root.email, /scheduler/)).text).toContain('last ran 3 minutes ago')

  await watchdog.run(silent)
  await look()
  await look()
  const recovered = ['scheduler.recovered', { minutes: 4 }]
  expect(await told()).toEqual({ inApp: [stopped, recovered], mails: [subject, 'Posts are published again'] })

  // Another incident is told again.
  stage.clock.advance(3 * MINUTE)
  await look()
  expect((await told()).mails).toHaveLength(3)
  await watchdog.run(silent)
  await look()
})

test('a post of one part that was published and not settled ends published, however late it is claimed', async () => {
  const targetId = await stage.target('mastodon', [part('published in time')])
  await stage.attempt(targetId, {
    point: { when: 'after', write: 'published', count: 1 },
    happens: () => Promise.resolve('killed'),
  })
  expect(await stage.read(targetId)).toMatchObject({ status: 'publishing' })
  stage.clock.advance(3 * 60 * MINUTE)
  await stage.attempt(targetId)
  expect(await stage.read(targetId)).toMatchObject({ status: 'published' })
  expect(await countOf('published in time')).toBe(1)
})
