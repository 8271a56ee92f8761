import { expect, test } from 'vitest'
import { createLog } from '../../../core/log.ts'
import { Patience, type OnLate } from './patience.ts'

const lines: string[] = []
const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
const signal = new AbortController().signal

/** Work that ends when the test says so. */
function work() {
  const { promise, reject, resolve } = Promise.withResolvers<void>()
  let late: OnLate = () => undefined
  let given: AbortSignal = signal
  const run = async (of: AbortSignal, onLate: OnLate) => {
    given = of
    late = onLate
    of.addEventListener('abort', () => reject(of.reason as Error))
    await promise
  }
  return { run, resolve, reject, late: (workspaceId = 'acme') => late(workspaceId), isAborted: () => given.aborted }
}

test('a job ends when a reply is late, and its delivery goes on', async () => {
  const patience = new Patience(log)
  const hanging = work()
  const job = patience.run(signal, hanging.run)
  hanging.late()
  hanging.late()
  await job
  expect(patience.size).toBe(1)
  hanging.resolve()
  await expect.poll(() => patience.size).toBe(0)
})

test('without a late reply a job ends with its delivery, and fails with it', async () => {
  const patience = new Patience(log)
  const [good, bad] = [work(), work()]
  const jobs = [patience.run(signal, good.run), patience.run(signal, bad.run)]
  good.resolve()
  bad.reject(new Error('the database is away'))
  await jobs[0]
  await expect(jobs[1]).rejects.toThrow('the database is away')
  expect(patience.size).toBe(0)
})

test('a failure after the end of the job is logged', async () => {
  const patience = new Patience(log)
  const failing = work()
  const job = patience.run(signal, failing.run)
  failing.late()
  await job
  failing.reject(new Error('no more leases'))
  await expect.poll(() => lines.join('')).toContain('no more leases')
})

test('without room, of the node or of a workspace, a delivery keeps its job', async () => {
  const patience = new Patience(log, { all: 3, perWorkspace: 2 })
  const all = ['acme', 'acme', 'acme', 'other', 'last'].map((workspaceId) => ({ workspaceId, ...work() }))
  const ended: number[] = []
  const jobs = all.map(async ({ run }, index) => {
    await patience.run(signal, run)
    ended.push(index)
  })
  for (const { late, workspaceId } of all) late(workspaceId)
  await expect.poll(() => ended).toEqual([0, 1, 3])
  expect(patience.size).toBe(3)
  for (const { resolve } of all) resolve()
  await Promise.all(jobs)
})

test('closing aborts deliveries without a job and waits for them, and lets no more jobs end', async () => {
  const patience = new Patience(log)
  const [alone, held] = [work(), work()]
  const job = patience.run(signal, alone.run)
  const other = patience.run(signal, held.run)
  alone.late()
  await job
  await patience.close()
  expect([alone.isAborted(), held.isAborted(), patience.size]).toEqual([true, true, 0])
  held.late()
  await expect(other).rejects.toThrow('shutting down')
})
