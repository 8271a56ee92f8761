import { expect, test } from 'vitest'
import { createLog } from '../../../core/log.ts'
import { Seats, type Seat } from './seats.ts'

const lines: string[] = []
const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
const signal = new AbortController().signal
const NO_ROOM = { prompt: 0, late: 3, latePerWorkspace: 2 }

/** Work that ends when the test says so. */
function work() {
  const { promise, reject, resolve } = Promise.withResolvers<void>()
  const given = Promise.withResolvers<{ seat: Seat; signal: AbortSignal }>()
  const run = async (of: AbortSignal, seat: Seat) => {
    given.resolve({ seat, signal: of })
    of.addEventListener('abort', () => reject(of.reason as Error))
    await promise
  }
  return { run, resolve, reject, given: given.promise }
}

test('with room, a job ends at once and its endpoint is served without it', async () => {
  const seats = new Seats(log)
  const serving = work()
  const job = new AbortController()
  await seats.take('acme', job.signal, serving.run)
  const given = await serving.given
  job.abort()
  expect([seats.size, given.seat.isOwn, given.signal.aborted]).toEqual([1, true, false])
  serving.resolve()
  await expect.poll(() => seats.size).toBe(0)
})

test('without room, a job ends with its work, and fails with it', async () => {
  const seats = new Seats(log, NO_ROOM)
  const [good, bad] = [work(), work()]
  const jobs = [seats.take('acme', signal, good.run), seats.take('acme', signal, bad.run)]
  expect((await good.given).seat.isOwn).toBe(false)
  good.resolve()
  bad.reject(new Error('the database is away'))
  await jobs[0]
  await expect(jobs[1]).rejects.toThrow('the database is away')
  expect(seats.size).toBe(0)
})

test('a failure after the end of the job is logged', async () => {
  const seats = new Seats(log)
  const failing = work()
  await seats.take('acme', signal, failing.run)
  failing.reject(new Error('no more leases'))
  await expect.poll(() => lines.join('')).toContain('no more leases')
})

test('an endpoint that replies late takes no room of others, until it replies', async () => {
  const seats = new Seats(log, { prompt: 1, late: 1, latePerWorkspace: 1 })
  const slow = work()
  await seats.take('acme', signal, slow.run)
  expect(seats.room).toBe(0)
  const { seat } = await slow.given
  seat.late()
  seat.late()
  expect([seats.room, seats.size]).toEqual([1, 1])
  seat.replied()
  expect([seats.room, seats.size]).toEqual([0, 1])
  slow.resolve()
})

test('without room for late replies, of the node or of a workspace, an endpoint keeps its job', async () => {
  const seats = new Seats(log, NO_ROOM)
  const all = ['acme', 'acme', 'acme', 'other', 'last'].map((workspaceId) => ({ workspaceId, ...work() }))
  const ended: number[] = []
  const jobs = all.map(async ({ run, workspaceId }, index) => {
    await seats.take(workspaceId, signal, run)
    ended.push(index)
  })
  for (const { given } of all) (await given).seat.late()
  await expect.poll(() => ended).toEqual([0, 1, 3])
  expect(seats.size).toBe(3)
  for (const { resolve } of all) resolve()
  await Promise.all(jobs)
})

test('closing aborts what is done without a job and waits for it, and leaves no more room', async () => {
  const seats = new Seats(log, { prompt: 1, late: 1, latePerWorkspace: 1 })
  const [alone, held] = [work(), work()]
  await seats.take('acme', signal, alone.run)
  const other = seats.take('acme', signal, held.run)
  await held.given
  await seats.close()
  expect([(await alone.given).signal.aborted, seats.size, seats.room]).toEqual([true, 0, 0])
  await expect(other).rejects.toThrow('shutting down')
})
