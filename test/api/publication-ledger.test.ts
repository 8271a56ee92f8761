import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SECOND } from '../../src/core/clock.ts'
import { Overloaded } from '../../src/core/errors.ts'
import { createLog } from '../../src/core/log.ts'
import type { TurnRunner } from '../../src/core/system-turn.ts'
import { LEASE } from '../../src/domains/publishing/publication/claims/lease.ts'
import type { MediaSources } from '../../src/domains/publishing/publication/attempts/media-source.ts'
import { ProgressLedger } from '../../src/domains/publishing/publication/attempts/progress-ledger.ts'
import { Publisher } from '../../src/domains/publishing/publication/attempts/publisher.ts'
import { postSegments, postTargets } from '../../src/domains/publishing/posts/tables.ts'
import { PLAIN_PAGES } from '../support/link-pages.ts'
import { PublicationStage } from '../support/publication.ts'
import { sandboxPosts } from '../support/sandbox-faults.ts'

/** What many attempts store at the same time, and what becomes of attempts that wait for their time when a node stops. */

let stage: PublicationStage
beforeAll(async () => void (stage = await PublicationStage.start()))
afterAll(() => stage.stop())

const part = (text: string) => ({ role: 'post' as const, text, media: [], options: {} })

/** A target that an attempt has, and the write of that attempt. */
async function owned(leaseMs: number = LEASE.leaseMs) {
  const targetId = await stage.target('mastodon', [part('progress')])
  const attemptId = randomUUID()
  const now = stage.clock.now()
  const leaseUntil = new Date(now + leaseMs).toISOString()
  await postTargets.update(stage.app.database, { id: targetId }, { status: 'publishing', attemptId, leaseUntil })
  const [segment] = await postSegments.find(stage.app.database, { targetId })
  const at = new Date(now).toISOString()
  const until = new Date(now + 2 * LEASE.leaseMs).toISOString()
  return { targetId, attemptId, at, until, segmentId: segment?.id ?? '', change: { state: { step: targetId } } }
}

const stateOf = async (id: string) => (await postSegments.first(stage.app.database, { id }))?.state

test('writes of many attempts succeed one by one, only for those that own their target', async () => {
  const ledger = new ProgressLedger(stage.app.database)
  const ours = await owned()
  const taken = { ...(await owned()), attemptId: randomUUID() }
  const ended = await owned(0)
  const heartbeat = await owned()
  const { change: _change, segmentId: _segment, ...extension } = heartbeat
  expect(await Promise.all([ours, taken, ended, extension].map((write) => ledger.write(write)))).toEqual([
    true,
    false,
    false,
    true,
  ])
  expect(await stateOf(ours.segmentId)).toEqual({ step: ours.targetId })
  expect([await stateOf(taken.segmentId), await stateOf(ended.segmentId)]).toEqual([null, null])
  expect(await stage.read(heartbeat.targetId)).toMatchObject({ leaseUntil: heartbeat.until })
})

test('a target that a turn has locked does not keep back the writes of the others', async () => {
  const ledger = new ProgressLedger(stage.app.database)
  const [free, locked] = [await owned(), await owned()]
  let late: Promise<boolean> | undefined
  await stage.app.database.transaction(async (tx) => {
    await tx.rows('select 1 from post_targets where id = $1 for update', [locked.targetId])
    late = ledger.write(locked)
    expect(await ledger.write(free)).toBe(true)
    // The turn cancels it, so the attempt is fenced.
    await postTargets.update(tx, { id: locked.targetId }, { attemptId: null, leaseUntil: null })
  })
  expect(await late).toBe(false)
  expect(await stateOf(locked.segmentId)).toBeNull()
})

function publisher(
  wait: (ms: number, signal?: AbortSignal) => Promise<unknown>,
  turns: TurnRunner = stage.services.turns,
): Publisher {
  const { socialAccounts, switches } = stage.services
  const media = { of: () => ({}) } as unknown as MediaSources
  const { app, clock } = stage
  return new Publisher({
    sql: app.database,
    clock,
    turns,
    switches,
    calls: socialAccounts.calls,
    media,
    pages: PLAIN_PAGES,
    times: LEASE,
    wait,
  })
}

test('a node that stops gives back what waits for its time, and it is not published early', async () => {
  const targetId = await stage.target('mastodon', [part('not before its time')])
  const dueAt = stage.clock.now() + 4 * SECOND
  const scheduledAt = new Date(dueAt).toISOString()
  await postTargets.update(stage.app.database, { id: targetId }, { scheduledAt })
  const stop = new AbortController()
  const stopping = publisher((_ms, signal) => {
    stop.abort(new Error('the node stops'))
    return Promise.reject(signal?.reason as Error)
  })
  const run = { workspaceId: stage.workspaceId, targetId, log: createLog({ level: 'silent' }) }
  await stopping.run({ ...run, signal: stop.signal })
  expect(await stage.read(targetId)).toMatchObject({ attemptId: null, nextAttemptAt: scheduledAt })
  expect((await sandboxPosts(stage.app, 'mastodon')).map(({ text }) => text)).not.toContain('not before its time')
  expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
  expect(stage.clock.now()).toBeGreaterThanOrEqual(dueAt)
})

test('a node that stops claims nothing more, and hands back the job', async () => {
  const targetId = await stage.target('mastodon', [part('left to others')])
  const run = { workspaceId: stage.workspaceId, targetId, log: createLog({ level: 'silent' }) }
  const stopped = publisher(() => Promise.resolve()).run({ ...run, signal: AbortSignal.abort(new Error('stops')) })
  await expect(stopped).rejects.toThrow('stops')
  expect(await stage.read(targetId)).toMatchObject({ status: 'scheduled', attemptId: null })
})

test('an outcome is stored as soon as the server is less busy', async () => {
  const targetId = await stage.target('mastodon', [part('a busy server')])
  const { turns } = stage.services
  let refusals = 0
  const busy: TurnRunner = {
    system: (workspaceId, turn, input) => {
      if (turn.name !== 'posts.settle' || refusals === 2) return turns.system(workspaceId, turn, input)
      refusals += 1
      return Promise.reject(Overloaded())
    },
  }
  const run = { workspaceId: stage.workspaceId, targetId, log: createLog({ level: 'silent' }) }
  await publisher(() => Promise.resolve(), busy).run({ ...run, signal: new AbortController().signal })
  expect(refusals).toBe(2)
  expect(await stage.read(targetId)).toMatchObject({ status: 'published' })
})
