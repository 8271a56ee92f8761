import { describe, expect, it } from 'vitest'
import { ManualClock } from '../core/clock.ts'
import { createLog } from '../core/log.ts'
import type { Coordination, Listener } from './coordination.ts'
import { InProcessCoordination } from './in-process.ts'
import { NoticeCache } from './notice-cache.ts'

/** A link that can be cut, as Redis's can. */
class CuttableCoordination implements Coordination {
  readonly kind = 'redis'
  readonly #inner = new InProcessCoordination(createLog({ level: 'silent' }))
  readonly #recovered: (() => void)[] = []
  linked = true

  publish(channel: string, message: unknown): void {
    this.#inner.publish(channel, message)
  }

  subscribe(channel: string, listener: Listener): () => void {
    return this.#inner.subscribe(channel, listener)
  }

  onRecovered(listener: () => void): () => void {
    this.#recovered.push(listener)
    return () => undefined
  }

  recover(): void {
    this.linked = true
    this.readAgain()
  }

  readAgain(): void {
    for (const listener of this.#recovered) listener()
  }

  warnings(): Promise<string[]> {
    return this.#inner.warnings()
  }

  ping(): Promise<number> {
    return this.#inner.ping()
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}

function setUp(most?: number) {
  const coordination = new CuttableCoordination()
  const clock = new ManualClock()
  const truth = new Map<string, string>()
  const loads: string[] = []
  let gate: Promise<void> | undefined
  const cache = new NoticeCache<string>({
    name: 'things',
    coordination,
    clock,
    load: async (group, key) => {
      loads.push(`${group}/${key}`)
      const read = truth.get(`${group}/${key}`)
      await gate
      return read
    },
    ...(most === undefined ? {} : { most }),
  })
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    return () => {
      gate = undefined
      resolve()
    }
  }
  return { cache, clock, coordination, truth, loads, hold }
}

describe('a cache that notices invalidate', () => {
  it('returns cached values at once, and does not cache missing rows', async () => {
    const { cache, truth, loads } = setUp()
    truth.set('g/a', 'one')
    expect(await cache.find('g', 'a')).toBe('one')
    expect(cache.find('g', 'a')).toBe('one')
    expect(await cache.find('g', 'b')).toBeUndefined()
    truth.set('g/b', 'two')
    expect(await cache.find('g', 'b')).toBe('two')
    expect(loads).toEqual(['g/a', 'g/b', 'g/b'])
  })

  it('drops one group when a notice arrives, and tells the listeners', async () => {
    const { cache, coordination, truth } = setUp()
    const heard: unknown[] = []
    cache.onInvalidated((group) => heard.push(group))
    truth.set('g/a', 'old').set('h/a', 'old')
    await cache.find('g', 'a')
    await cache.find('h', 'a')
    truth.set('g/a', 'new').set('h/a', 'new')
    coordination.publish('things:g', {})
    expect(await cache.find('g', 'a')).toBe('new')
    expect(cache.find('h', 'a')).toBe('old')
    expect(heard).toEqual(['g'])
  })

  it('does not cache a value that was read before a change and arrives after it', async () => {
    const { cache, truth, hold } = setUp()
    truth.set('g/a', 'old')
    const release = hold()
    const reading = cache.find('g', 'a')
    truth.set('g/a', 'new')
    cache.invalidate('g')
    release()
    await reading
    expect(await cache.find('g', 'a')).toBe('new')
  })

  it('keeps no value longer than 30 s', async () => {
    const { cache, clock, truth } = setUp()
    truth.set('g/a', 'old')
    await cache.find('g', 'a')
    truth.set('g/a', 'new')
    clock.advance(29_999)
    expect(cache.find('g', 'a')).toBe('old')
    clock.advance(1)
    expect(await cache.find('g', 'a')).toBe('new')
  })

  it('loads every time while the link is down, and caches again when it is back', async () => {
    const { cache, coordination, truth, loads } = setUp()
    const heard: unknown[] = []
    cache.onInvalidated((group) => heard.push(group))
    truth.set('g/a', 'old')
    await cache.find('g', 'a')
    coordination.linked = false
    truth.set('g/a', 'new')
    expect(await cache.find('g', 'a')).toBe('new')
    expect(await cache.find('g', 'a')).toBe('new')
    expect(loads).toHaveLength(3)
    coordination.recover()
    expect(heard).toEqual([undefined])
    expect(await cache.find('g', 'a')).toBe('new')
  })

  it('holds no more values than its limit', async () => {
    const { cache, truth, loads } = setUp(3)
    for (const key of ['g/a', 'g/b', 'h/a', 'h/b']) truth.set(key, key)
    for (const key of ['g/a', 'g/b', 'h/a', 'h/b']) await cache.find(key[0] as string, key[2])
    expect(cache.find('h', 'a')).toBe('h/a')
    expect(cache.find('h', 'b')).toBe('h/b')
    expect(await cache.find('g', 'a')).toBe('g/a')
    expect(loads).toHaveLength(5)
  })
})
