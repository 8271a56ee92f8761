import { beforeEach, describe, expect, it } from 'vitest'
import { Lease, type LeaseOptions } from './lease.ts'
import type { BeatResult, NodeEntry } from './ports.ts'
import { SimProcess } from './simulation/process.ts'
import { SeededRandom } from './simulation/random.ts'
import { Scheduler } from './simulation/scheduler.ts'

interface Beat {
  readonly at: number
  readonly self: NodeEntry
  readonly first: boolean
  readonly previous: string | undefined
}

let scheduler: Scheduler
let beats: Beat[]
let lost: string[]
let errors: unknown[]
let heard: number
/** The store's reply to a beat. */
let answer: (self: NodeEntry) => Promise<BeatResult>
let left: string[]

const alive = async (self: NodeEntry): Promise<BeatResult> => ({ live: true, nodes: [self] })
/** Refuses one beat, and accepts those after it. */
const refusedOnce = async (): Promise<BeatResult> => {
  answer = alive
  return { live: false, nodes: [] }
}
const never = () => new Promise<never>(() => undefined)

beforeEach(() => {
  scheduler = new Scheduler()
  beats = []
  lost = []
  errors = []
  left = []
  heard = 0
  answer = alive
})

function leaseOf(changes: Partial<LeaseOptions> = {}): Lease {
  return new Lease({
    store: {
      beat: (self, _ttlMs, { first, previous }) => {
        beats.push({ at: scheduler.now, self, first, previous })
        return answer(self)
      },
      locate: async () => undefined,
      release: async () => undefined,
      leave: async (inc) => void left.push(inc),
      close: async () => undefined,
    },
    clock: new SimProcess('node', scheduler, 1, 0).clock,
    random: new SeededRandom(1),
    address: 'node:1',
    ttlMs: 5_000,
    beatMs: 1_000,
    selfFence: true,
    onLost: (inc) => void lost.push(inc),
    onBeat: () => (heard += 1),
    onError: (error) => void errors.push((error as Error).message),
    ...changes,
  })
}

async function started(changes: Partial<LeaseOptions> = {}): Promise<Lease> {
  const lease = leaseOf(changes)
  lease.start()
  await pass(0)
  return lease
}

async function pass(ms: number): Promise<void> {
  const until = scheduler.now + ms
  await new Promise(setImmediate)
  await scheduler.run(until)
}

const times = () => beats.map(({ at }) => at)

describe('a lease', () => {
  it('is renewed every second, and is trusted for four fifths of its time', async () => {
    const lease = await started()
    expect([lease.live, lease.leftMs, lease.state, heard]).toEqual([true, 4_000, 'active', 1])
    await pass(2_500)
    expect(times()).toEqual([0, 1_000, 2_000])
    expect(beats.map(({ first }) => first)).toEqual([true, false, false])
    expect([lease.leftMs, heard]).toEqual([3_500, 3])
    answer = never
    await pass(3_499)
    expect([lease.live, lease.leftMs, lost]).toEqual([true, 1, []])
    await pass(1)
    expect([lease.live, lease.leftMs, lease.lostLeases]).toEqual([false, 0, 1])
    expect(lost).toEqual([beats[0]?.self.inc])
  })

  it('is retried four times as often after a failure, which is reported once', async () => {
    answer = () => Promise.reject(new Error('away'))
    const lease = await started()
    await pass(700)
    expect(times()).toEqual([0, 250, 500])
    expect([lease.live, lease.leftMs, errors, lost]).toEqual([false, 0, ['away'], []])
    answer = alive
    await pass(100)
    expect([lease.live, times().length]).toEqual([true, 4])
    answer = () => Promise.reject(new Error('away again'))
    await pass(1_500)
    expect(errors).toEqual(['away', 'away again'])
  })

  it('returns under a new name that replaces the old one', async () => {
    const lease = await started()
    const before = lease.inc
    answer = refusedOnce
    await pass(1_000)
    expect([lease.live, lost, lease.lostLeases]).toEqual([true, [before], 1])
    expect(lease.inc).not.toBe(before)
    expect(beats.at(-1)).toMatchObject({ at: 1_000, first: true, previous: before, self: { inc: lease.inc } })
    await pass(1_000)
    expect(beats.at(-1)).toMatchObject({ first: false, previous: undefined })
  })

  it('gets another name when the first one is refused, without reporting a loss', async () => {
    answer = refusedOnce
    const lease = await started()
    const before = beats[0]?.self.inc
    expect([lease.live, lease.lostLeases, lost]).toEqual([true, 0, []])
    expect(beats.at(-1)).toMatchObject({ first: true, previous: before })
  })

  it('does not begin with a reply that arrives too late', async () => {
    answer = (self) =>
      new Promise((resolve) => void scheduler.after(4_000, () => resolve({ live: true, nodes: [self] })))
    const lease = await started()
    await pass(4_000)
    expect([lease.live, heard]).toEqual([false, 0])
    answer = alive
    await pass(1_000)
    expect([lease.live, heard]).toEqual([true, 1])
  })

  it('is not ended by its own clock when the node does not fence itself', async () => {
    const lease = await started({ selfFence: false })
    answer = never
    await pass(60_000)
    expect([lease.live, lost, lease.leftMs]).toEqual([true, [], 0])
  })
})

describe('a new state', () => {
  it('is published at once, and one that comes during a beat right after it', async () => {
    const lease = await started()
    await pass(300)
    void lease.enter('impaired')
    await pass(0)
    expect(beats.map(({ at, self }) => [at, self.state])).toEqual([
      [0, 'active'],
      [300, 'impaired'],
    ])
    await lease.enter('impaired')
    expect(beats).toHaveLength(2)
    const slow = Promise.withResolvers<BeatResult>()
    answer = () => slow.promise
    await pass(1_000)
    void lease.enter('leaving')
    await pass(10)
    expect(beats).toHaveLength(3)
    answer = alive
    slow.resolve({ live: true, nodes: [] })
    await pass(10)
    expect(beats.map(({ self }) => self.state)).toEqual(['active', 'impaired', 'impaired', 'leaving'])
    await pass(980)
    expect(beats).toHaveLength(4)
    await pass(30)
    expect(beats).toHaveLength(5)
  })
})

describe('waiting for a lease', () => {
  it('ends when there is a lease, or at its limit', async () => {
    answer = () => Promise.reject(new Error('away'))
    const lease = await started()
    const ends: [number, boolean][] = []
    for (const ms of [0, -1, 100, 5_000]) void lease.untilLive(ms).then((live) => ends.push([scheduler.now, live]))
    await pass(0)
    expect(ends).toEqual([
      [0, false],
      [0, false],
    ])
    await pass(200)
    expect(ends[2]).toEqual([100, false])
    answer = alive
    await pass(100)
    expect(ends[3]).toEqual([250, true])
    expect(await lease.untilLive(5_000)).toBe(true)
    await lease.close()
    expect(scheduler.waiting).toBe(0)
  })
})

describe('closing', () => {
  it('ends the session, and leaves nothing behind', async () => {
    const lease = await started()
    const { inc } = lease
    await lease.close()
    await pass(10_000)
    expect([left, lease.live, lease.leftMs, beats.length, lost]).toEqual([[inc], false, 0, 1, []])
    expect(scheduler.waiting).toBe(0)
  })

  it('sends nothing to the store without a session, and ignores a beat in progress', async () => {
    const slow = Promise.withResolvers<BeatResult>()
    answer = () => slow.promise
    const lease = await started()
    await lease.close()
    slow.resolve({ live: true, nodes: [] })
    await pass(10_000)
    expect([left, lease.live, heard, beats.length]).toEqual([[], false, 0, 1])
    expect(scheduler.waiting).toBe(0)
  })
})
