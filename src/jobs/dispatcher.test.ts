import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ManualClock } from '../core/clock.ts'
import { createLog } from '../core/log.ts'
import type { Backend, Entry } from './backend.ts'
import { Dispatcher } from './dispatcher.ts'
import type { Lines } from './lines.ts'
import type { DueRow, Outbox } from './outbox.ts'

// The timers are those of Vitest, so that a test decides when one fires.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const row = (id: string, changes: Partial<DueRow> = {}): DueRow => ({
  id,
  name: 'test.job',
  queue: 'default',
  workspaceId: null,
  added: 1,
  runAt: '2026-11-01T12:00:00.000Z',
  ...changes,
})

/** A dispatcher with an outbox that the test fills. */
function start() {
  const clock = new ManualClock()
  const due: DueRow[][] = []
  const lines: DueRow[][] = []
  const added: [string, readonly Entry[]][] = []
  const queues: string[] = []
  const unclaimed: (readonly string[])[] = []
  const state = { claims: 0, next: undefined as number | undefined, failsAt: '', unavailable: false, closedIn: false }
  const outbox: Pick<Outbox, 'claimDue' | 'nextDue' | 'unclaim'> = {
    claimDue: async () => {
      state.claims += 1
      if (state.unavailable) throw new Error('the database is away')
      return due.shift() ?? []
    },
    nextDue: async () => state.next,
    unclaim: async (ids) => unclaimed.push(ids),
  }
  const backend: Pick<Backend, 'add'> = {
    add: async (queue, entries) => {
      if (state.failsAt === queue) throw new Error('the store is away')
      added.push([queue, entries])
    },
  }
  const dispatcher = new Dispatcher({
    outbox: outbox as Outbox,
    lines: { claim: async () => lines.shift() ?? [] } as unknown as Lines,
    holding: { apply: async () => false },
    clock,
    log: createLog({ level: 'silent' }),
    backend: async () => backend as Backend,
    onQueue: async (queue) => void queues.push(queue),
    pollMs: 5_000,
  })
  /** Waits until all work that needs no timer is done. */
  const settle = () => vi.advanceTimersByTimeAsync(0)
  return { added, clock, dispatcher, due, lines, queues, settle, state, unclaimed }
}

test('adds due rows by queue, marks those that were already added, and requests workers', async () => {
  const { added, dispatcher, due, lines, queues, settle } = start()
  due.push([row('1', { workspaceId: 'w' }), row('2', { queue: 'mail' }), row('3', { added: 2 })])
  lines.push([row('4', { queue: 'media' })])
  dispatcher.wake()
  await settle()
  expect(added).toEqual([
    [
      'default',
      [
        { id: '1', name: 'test.job', workspaceId: 'w', again: false },
        { id: '3', name: 'test.job', workspaceId: null, again: true },
      ],
    ],
    ['mail', [{ id: '2', name: 'test.job', workspaceId: null, again: false }]],
    ['media', [{ id: '4', name: 'test.job', workspaceId: null, again: false }]],
  ])
  expect(queues).toEqual(['default', 'mail', 'media'])
  await dispatcher.close()
})

test('reads again at once if the batch was full, or if it was woken during the read', async () => {
  const { dispatcher, due, settle, state } = start()
  due.push(Array.from({ length: 500 }, (_, index) => row(String(index))))
  dispatcher.wake()
  await settle()
  expect(state.claims).toBe(2)
  dispatcher.wake()
  dispatcher.wake()
  await settle()
  expect(state.claims).toBe(4)
  due.push(Array.from({ length: 499 }, (_, index) => row(String(index))))
  dispatcher.wake()
  await settle()
  expect(state.claims).toBe(5)
  await dispatcher.close()
})

test('sleeps until the next row is due, but no longer than its interval', async () => {
  const { clock, dispatcher, settle, state } = start()
  state.next = clock.now() + 1_200
  dispatcher.wake()
  await settle()
  await vi.advanceTimersByTimeAsync(1_199)
  expect(state.claims).toBe(1)
  state.next = clock.now() + 60_000
  await vi.advanceTimersByTimeAsync(1)
  expect(state.claims).toBe(2)
  await vi.advanceTimersByTimeAsync(4_999)
  expect(state.claims).toBe(2)
  // Overdue: again after a millisecond, not in a loop.
  state.next = clock.now() - 500
  await vi.advanceTimersByTimeAsync(1)
  expect(state.claims).toBe(3)
  state.next = undefined
  await vi.advanceTimersByTimeAsync(1)
  expect(state.claims).toBe(4)
  await vi.advanceTimersByTimeAsync(4_999)
  expect(state.claims).toBe(4)
  await vi.advanceTimersByTimeAsync(1)
  expect(state.claims).toBe(5)
  await dispatcher.close()
})

test('has one timer, however often it is woken', async () => {
  const { dispatcher, settle } = start()
  for (let count = 0; count < 3; count += 1) {
    dispatcher.wake()
    await settle()
  }
  expect(vi.getTimerCount()).toBe(1)
  await dispatcher.close()
})

test('releases rows that could not be added, and tries again a second later', async () => {
  const { added, dispatcher, due, queues, settle, state, unclaimed } = start()
  due.push([row('1'), row('2', { queue: 'mail' }), row('3', { queue: 'media' })])
  state.failsAt = 'mail'
  dispatcher.wake()
  dispatcher.wake()
  await settle()
  expect(added.map(([queue]) => queue)).toEqual(['default'])
  expect([queues, unclaimed]).toEqual([['default'], [['2', '3']]])
  await vi.advanceTimersByTimeAsync(999)
  expect(state.claims).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(state.claims).toBe(2)
  await dispatcher.close()
})

test('tries again when the database is back', async () => {
  const { added, dispatcher, due, settle, state } = start()
  state.unavailable = true
  dispatcher.wake()
  await settle()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(state.claims).toBe(2)
  state.unavailable = false
  due.push([row('1')])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(added).toHaveLength(1)
  await dispatcher.close()
})

test('does nothing and leaves no timer after it was closed', async () => {
  const { dispatcher, due, settle, state } = start()
  dispatcher.wake()
  await settle()
  await dispatcher.close()
  expect(vi.getTimerCount()).toBe(0)
  dispatcher.wake()
  await settle()
  expect(state.claims).toBe(1)
  // Closed while it works: it finishes the page, asks for no other, and sleeps no more.
  const other = start()
  other.due.push(Array.from({ length: 500 }, (_, index) => row(String(index))))
  other.dispatcher.wake()
  await other.dispatcher.close()
  expect([other.state.claims, other.added.length, vi.getTimerCount(), due.length]).toEqual([1, 1, 0, 0])
})
