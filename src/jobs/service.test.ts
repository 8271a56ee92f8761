import { expect, test } from 'vitest'
import type { Coordination } from '../coordination/coordination.ts'
import { ManualClock } from '../core/clock.ts'
import { job, jobsByName, type AnyJob } from '../core/job.ts'
import { Type } from '../core/schema.ts'
import { SealedBox } from '../tools/sealed-box.ts'
import type { Sql } from '../core/sql.ts'
import type { Database } from '../db/database.ts'
import { JobRows } from './rows.ts'
import { JOBS_ADDED, JobService } from './service.ts'

const greet = job({
  name: 'test.greet',
  summary: 'x',
  queue: 'default',
  data: Type.Object({ text: Type.String() }),
  run: async () => undefined,
})
const sealed = job({ ...greet, name: 'test.sealed', sealed: true })
const fair = job({ ...greet, name: 'test.fair', queue: 'media' })
const box = new SealedBox('a secret of tests', 'jobs')
const clock = new ManualClock()

function start() {
  const notices: string[] = []
  const service = new JobService({
    database: {} as Database,
    clock,
    coordination: { publish: (channel: string) => void notices.push(channel) } as unknown as Coordination,
    box,
    declared: jobsByName([greet]),
  })
  const statements: string[] = []
  const sql = { run: async (text: string) => statements.push(text), rows: async () => [] } as unknown as Sql
  return { notices, service, sql, statements }
}

const eventLoopTurn = () => new Promise(setImmediate)

test('notifies the nodes that run jobs once, immediately without a transaction', async () => {
  const { notices, service, sql, statements } = start()
  await Promise.all([service.add(sql, greet, { text: 'a' }), service.add(sql, greet, { text: 'b' })])
  await eventLoopTurn()
  expect([notices, statements.length]).toEqual([[JOBS_ADDED], 2])
  await service.add(sql, greet, { text: 'c' })
  await eventLoopTurn()
  expect(notices).toEqual([JOBS_ADDED, JOBS_ADDED])
})

test('notifies them after the commit inside a transaction', async () => {
  const { notices, service, sql } = start()
  const commits: (() => void)[] = []
  const tx = Object.assign(sql, { afterCommit: (action: () => void) => void commits.push(action) })
  await service.add(tx, greet, { text: 'a' })
  await eventLoopTurn()
  expect([notices, commits.length]).toEqual([[], 1])
  commits[0]?.()
  await eventLoopTurn()
  expect(notices).toEqual([JOBS_ADDED])
})

test('refuses a job that is not declared, and a name that is declared twice', async () => {
  const { service, sql } = start()
  await expect(service.add(sql, sealed, { text: 'a' })).rejects.toThrow('the job test.sealed is not registered')
  expect(() => service.make(sealed, { text: 'a' }, {})).toThrow('the job test.sealed is not registered')
  expect(() => jobsByName([greet, greet])).toThrow('job test.greet is declared twice')
})

test('makes a row that is due now or later, in the line of its workspace if the queue is fair', () => {
  const rows = new JobRows(clock, box)
  const now = new Date(clock.now()).toISOString()
  expect(rows.make(greet, { text: 'a' })).toMatchObject({
    name: 'test.greet',
    queue: 'default',
    workspaceId: null,
    line: null,
    key: null,
    data: { text: 'a' },
    state: 'waiting',
    runAt: now,
    attempts: 0,
    added: 0,
    createdAt: now,
    updatedAt: now,
  })
  const runAt = new Date(clock.now() + 60_000)
  const later = rows.make(fair, { text: 'a' }, { runAt, key: 'one', workspaceId: 'w1' })
  expect(later).toMatchObject({ runAt: runAt.toISOString(), key: 'one', workspaceId: 'w1', line: 'w1', createdAt: now })
  expect(rows.make(fair, { text: 'a' }).line).toBe('00000000-0000-0000-0000-000000000000')
})

test('stores at most 256 KiB of data', () => {
  const rows = new JobRows(clock, box)
  const text = 'x'.repeat(256 * 1024 - '{"text":""}'.length)
  expect(rows.make(greet, { text }).data).toEqual({ text })
  expect(() => rows.make(greet, { text: `${text}x` })).toThrow('the data of the job test.greet is too long')
})

test('encrypts the data of a sealed job, and reads it again', () => {
  const rows = new JobRows(clock, box)
  const { data } = rows.make(sealed, { text: 'hush' })
  expect(JSON.stringify(data)).not.toContain('hush')
  expect(rows.read(sealed as AnyJob, data)).toEqual({ text: 'hush' })
  expect(rows.read(greet as AnyJob, { text: 'open' })).toEqual({ text: 'open' })
})

test('refuses data that this version can never read, and says what is wrong', () => {
  const rows = new JobRows(clock, box)
  const error = { name: 'UnrecoverableError' }
  expect(() => rows.make(greet, { text: 1 } as never)).toThrow(/^the data of the job test\.greet is not valid: \/text /)
  expect(() => rows.read(greet as AnyJob, { text: 1 })).toThrow(
    expect.objectContaining({ ...error, message: expect.stringMatching(/^the stored data is not valid: \/text /) }),
  )
  expect(() => rows.read(greet as AnyJob, null)).toThrow(
    expect.objectContaining({ ...error, message: expect.stringMatching(/^the stored data is not valid: it /) }),
  )
  expect(() => rows.read(sealed as AnyJob, { sealed: 'broken' })).toThrow(expect.objectContaining(error))
})
