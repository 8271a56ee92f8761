import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MainThread, type Reservation } from './main-thread.ts'

let thread: MainThread
let held: [string, number][]

beforeEach(() => {
  vi.useFakeTimers()
  held = []
  thread = new MainThread({
    clock: { monotonic: () => performance.now() },
    onHeld: (name, ms) => void held.push([name, ms]),
  })
})
afterEach(() => void vi.useRealTimers())

/** Requests that take this long each, and the order in which they start. */
function requests(takesMs: number) {
  const started: string[] = []
  const failed: string[] = []
  const send = async (tenant: string, id: string, name = 'readNote') => {
    try {
      const entered = thread.enter(tenant, name)
      // A request that need not wait runs at once.
      const reserved = entered instanceof Promise ? await entered : entered
      started.push(id)
      finish(tenant, name, reserved)
    } catch (error) {
      failed.push(`${id} ${(error as { code: string }).code}`)
    }
  }
  const finish = (tenant: string, name: string, reserved: Reservation | undefined) => {
    thread.spent(name, [tenant], takesMs)
    if (reserved === undefined) return
    thread.over(name, takesMs)
    thread.leave(reserved)
  }
  return { started, failed, send }
}

test('ordinary requests never wait', () => {
  for (let sent = 0; sent < 1_000; sent += 1) {
    expect(thread.isIdle).toBe(true)
    expect(thread.enter('a', 'readNote')).toBeUndefined()
    thread.spent('readNote', ['a'], 1.5)
  }
  expect(vi.getTimerCount()).toBe(0)
})

test('heavy requests of one tenant wait for each other, and those of others do not wait', async () => {
  const { send, started } = requests(40)
  const sent = Array.from({ length: 5 }, (_, index) => send('a', `a${index}`))
  await vi.advanceTimersByTimeAsync(0)
  expect(started).toEqual(['a0'])
  expect(thread.waiting).toBe(4)
  await send('b', 'b0', 'listNotes')
  expect(started).toEqual(['a0', 'b0'])
  await vi.advanceTimersByTimeAsync(10_000)
  await Promise.all(sent)
  expect(started).toEqual(['a0', 'b0', 'a1', 'a2', 'a3', 'a4'])
})

test('a tenant gets half of the thread in the long run', async () => {
  const { failed, send, started } = requests(100)
  for (let index = 0; index < 30; index += 1) void send('a', String(index))
  await vi.advanceTimersByTimeAsync(4_000)
  // 100 ms each at a half, and what is allowed beyond.
  expect(started.length).toBeGreaterThanOrEqual(19)
  expect(started.length).toBeLessThanOrEqual(22)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(failed.length).toBeGreaterThan(0)
  expect(failed[0]).toContain('overloaded')
  expect(thread.waiting).toBe(0)
})

test('requests of a heavy operation that start at once wait, before any of them has spent anything', async () => {
  thread.spent('exportNotes', ['b'], 80)
  const first = thread.enter('a', 'exportNotes')
  expect(first).toEqual({ tenant: 'a', ms: 80 })
  const second = thread.enter('a', 'exportNotes') as Promise<Reservation>
  expect(second).toBeInstanceOf(Promise)
  // It is another tenant's operation, too.
  expect(thread.enter('c', 'exportNotes')).toEqual({ tenant: 'c', ms: 80 })
  // It took less, so the next one need not wait for the rest.
  thread.over('exportNotes', 1)
  thread.leave(first as Reservation)
  await vi.advanceTimersByTimeAsync(0)
  await expect(second).resolves.toMatchObject({ tenant: 'a', ms: expect.closeTo(56, 0) as number })
})

test('an operation stops being heavy when its requests take less, and with time', async () => {
  thread.spent('first', ['a'], 40)
  for (let sent = 0; sent < 4; sent += 1) thread.over('first', 0.1)
  expect(thread.enter('b', 'first')).toBeUndefined()
  thread.spent('second', ['a'], 40)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(thread.isIdle).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('tenants that wait are served in turn', async () => {
  const { send, started } = requests(40)
  thread.spent('readNote', ['a', 'b'], 100)
  const all = ['a0', 'a1', 'b0', 'a2', 'b1'].map((id) => send(id.charAt(0), id))
  await vi.advanceTimersByTimeAsync(2_000)
  await Promise.all(all)
  expect(started).toEqual(['a0', 'b0', 'a1', 'b1', 'a2'])
})

test('each request that waited starts in its own turn of the event loop', async () => {
  vi.useRealTimers()
  const real = new MainThread({ onHeld: () => undefined })
  real.spent('readNote', ['a', 'b'], 100)
  let turn = 0
  let isOver = false
  const countTurns = () => {
    turn += 1
    if (!isOver) setImmediate(countTurns)
  }
  countTurns()
  const turns = await Promise.all(
    ['a', 'b', 'a'].map(async (tenant) => {
      await real.enter(tenant, 'other')
      return turn
    }),
  )
  isOver = true
  expect(new Set(turns).size).toBe(3)
})

test('too many that wait, and those that have waited for too long, are refused', async () => {
  const { failed, send } = requests(1)
  thread.spent('readNote', ['a'], 5_000)
  for (let index = 0; index < 257; index += 1) void send('a', String(index))
  await vi.advanceTimersByTimeAsync(0)
  expect(failed).toEqual(['256 overloaded'])
  // A single very long piece is not held against the tenant for longer than that.
  await vi.advanceTimersByTimeAsync(4_500)
  expect(failed).toHaveLength(1)
})

test('work of more than 50 ms is reported, whoever asked for it', () => {
  thread.spent('removeOldFiles', [], 51)
  thread.spent('readNote', ['a'], 50)
  thread.spent('readNote', ['a'], 1_000)
  expect(held).toEqual([
    ['removeOldFiles', 51],
    ['readNote', 1_000],
  ])
})
