import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { isFinal } from '../../src/domains/publishing/posts/state.ts'
import { postTargets, type TargetRow } from '../../src/domains/publishing/posts/tables.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { createDatabase } from '../support/postgres.ts'
import { sandboxPosts } from '../support/sandbox-faults.ts'
import { seedUser, seedWorkspace } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

const ACCOUNTS = ['x', 'x', 'telegram', 'threads'] as const
const START = Date.parse('2026-11-30T08:00:00Z')

test('after an outage of hours all is published or missed, in order, within limits and without a burst', async () => {
  const database = await createDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'crier-outage-'))
  const clock = new ManualClock(START)
  const start = () => startApp({ clock, jobTimes: QUICK, databaseUrl: database.url, dataDir })
  let app = await start()
  try {
    const { apiKey } = await seedUser(app, 'owner', { plan: 'business' })
    const workspaceId = await seedWorkspace(app, 'Outage', { apiKey } as never)
    const targets: { accountId: string }[] = []
    for (const platform of ACCOUNTS) {
      const reply = await app.send('POST /api/social-accounts', {
        apiKey,
        body: { workspaceId, platform, sandbox: true },
      })
      targets.push({ accountId: reply.body.data._id })
    }
    for (let n = 1; n <= 10; n += 1) {
      const scheduledFor = new Date(START + n * 20 * MINUTE).toISOString()
      // Every second one can be four hours late.
      const lateMinutes = n % 2 === 0 ? 240 : 30
      const body = { workspaceId, content: `post ${n} end`, scheduledFor, lateMinutes, targets }
      const reply = await app.send('POST /api/posts', { apiKey, body })
      expect(reply.status, reply.text).toBe(201)
    }
    await app.stop()
    // The first nine are due by then. The late limit of number 9 has not passed.
    clock.advance(3 * HOUR + 5 * MINUTE)
    app = await start()
    const restored = clock.now()
    const steps = await publishAll(app, clock, restored)
    const due = (await rows(app)).filter(({ scheduledAt }) => Date.parse(scheduledAt ?? '') <= restored)
    expect(due).toHaveLength(9 * ACCOUNTS.length)
    for (const { problem, scheduledAt, startBy, status } of due) {
      const isTooLate = Date.parse(startBy ?? '') < restored
      expect([scheduledAt, status, problem?.code]).toEqual([
        scheduledAt,
        isTooLate ? 'missed' : 'published',
        isTooLate ? 'too_late' : undefined,
      ])
    }
    for (const { accountId } of targets) {
      const published = due
        .filter((target) => target.accountId === accountId && target.status === 'published')
        .toSorted((a, b) => Date.parse(a.publishedAt ?? '') - Date.parse(b.publishedAt ?? ''))
      const planned = published.map(({ scheduledAt }) => Date.parse(scheduledAt ?? ''))
      expect(planned).toEqual(planned.toSorted((a, b) => a - b))
      const times = published.map(({ publishedAt }) => Date.parse(publishedAt ?? ''))
      const distances = times.slice(1).map((at, index) => at - (times[index] ?? 0))
      expect(Math.min(...distances)).toBeGreaterThanOrEqual(SECOND)
    }
    // One per platform at once.
    expect(Math.max(...steps)).toBeLessThanOrEqual(new Set(ACCOUNTS).size)
    for (const platform of new Set(ACCOUNTS)) {
      const texts = (await sandboxPosts(app, platform)).map(({ text }) => text)
      const accounts = ACCOUNTS.filter((one) => one === platform).length
      const counts = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => texts.filter((text) => text === `post ${n} end`).length)
      expect([platform, counts]).toEqual([platform, [0, 1, 0, 1, 0, 1, 0, 1, 1].map((count) => count * accounts)])
    }
  } finally {
    await app.stop()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  }
})

const rows = (app: App) => postTargets.find(app.database, {})

/**
 * Moves the clock to the next time at which something is to be done, as soon as all that is due has been done.
 * @returns how many targets were published at each of these times
 */
async function publishAll(app: App, clock: ManualClock, restored: number): Promise<number[]> {
  const steps: number[] = []
  let published = 0
  for (;;) {
    const open = await waitFor(
      async () => {
        const found = await rows(app)
        const left = found.filter((row) => !isFinal(row.status) && Date.parse(row.scheduledAt ?? '') <= restored)
        return left.every((row) => nextOf(row) > clock.now()) ? left : undefined
      },
      { what: 'all that is due to be done' },
    )
    const now = (await rows(app)).filter(({ status }) => status === 'published').length
    steps.push(now - published)
    published = now
    if (open.length === 0) return steps
    clock.advance(Math.min(...open.map(nextOf)) - clock.now())
  }
}

/** When something happens to a target again. */
function nextOf({ attemptId, nextAttemptAt, scheduledAt }: TargetRow): number {
  return attemptId === null ? Date.parse(nextAttemptAt ?? scheduledAt ?? '') : 0
}
