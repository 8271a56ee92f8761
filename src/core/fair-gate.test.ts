import { expect, test, vi } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { FairGate } from './fair-gate.ts'

/** Work that ends on request and records when it starts. */
function workshop(gate: FairGate) {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const run = (key: string, name: string) =>
    gate.run(key, () => {
      started.push(name)
      return new Promise<void>((resolve) => ends.set(name, resolve))
    })
  return { started, run, end: (name: string) => ends.get(name)?.() }
}

test('each key has its own limit, and waiting keys are served round robin', async () => {
  const { end, run, started } = workshop(new FairGate({ total: 3, each: 2, waiting: 10, waitMs: 60_000 }))
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => run(name.charAt(0), name))
  expect(started).toEqual(['a1', 'a2', 'b1'])
  const order = ['b2', 'c1', 'a3', 'a4']
  for (const [index, name] of ['b1', 'a1', 'b2', 'a2'].entries()) {
    end(name)
    await waitFor(() => started.length === 4 + index)
  }
  expect(started.slice(3).toSorted()).toEqual(order.toSorted())
  // The third and fourth task of the busy key run after the first task of every other key.
  expect(started.indexOf('c1')).toBeLessThan(started.indexOf('a4'))
  expect(started.indexOf('b2')).toBeLessThan(started.indexOf('a3'))
  for (const name of ['a3', 'a4', 'c1']) end(name)
  await Promise.all(all)
})

test('a key stays at its limit when one of its tasks ends and the next one starts', async () => {
  const { end, run, started } = workshop(new FairGate({ total: 10, each: 2, waiting: 10, waitMs: 60_000 }))
  const first = ['a1', 'a2', 'a3'].map((name) => run('a', name))
  end('a1')
  await waitFor(() => started.length === 3)
  const last = run('a', 'a4')
  expect(started).toEqual(['a1', 'a2', 'a3'])
  end('a2')
  await waitFor(() => started.includes('a4'))
  for (const name of ['a3', 'a4']) end(name)
  await Promise.all([...first, last])
})

test('tasks over the limit or the time limit are refused and leave no state behind', async () => {
  vi.useFakeTimers()
  try {
    const { end, run, started } = workshop(new FairGate({ total: 1, each: 1, waiting: 1, waitMs: 1_000 }))
    const first = run('a', 'a1')
    const second = run('a', 'a2')
    await expect(run('a', 'a3')).rejects.toMatchObject({ code: 'overloaded', retryAfter: 2 })
    const refused = expect(second).rejects.toMatchObject({ code: 'overloaded' })
    await vi.advanceTimersByTimeAsync(1_000)
    await refused
    end('a1')
    await first
    const last = run('a', 'a4')
    expect(started).toEqual(['a1', 'a4'])
    const next = run('a', 'a5')
    end('a4')
    await last
    await vi.waitFor(() => expect(started).toContain('a5'))
    expect(vi.getTimerCount()).toBe(0)
    end('a5')
    await next
  } finally {
    vi.useRealTimers()
  }
})

test('a failed task frees its place', async () => {
  const gate = new FairGate({ total: 1, each: 1, waiting: 1, waitMs: 1_000 })
  await expect(gate.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await gate.run('a', async () => 'yes')).toBe('yes')
})
