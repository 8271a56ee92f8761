import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { GRACE_MS, Stop } from './stop.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** The outcome of a promise. */
function heard(promise: Promise<unknown>) {
  const result: { error?: Error; ended: boolean } = { ended: false }
  promise.then(
    () => (result.ended = true),
    (error: Error) => Object.assign(result, { error, ended: true }),
  )
  return result
}

test('a signal that is first read after the abort is aborted, with the same reason', () => {
  const stop = new Stop()
  const reason = new Error('the node is shutting down')
  stop.abort(reason)
  expect([stop.signal.aborted, stop.signal.reason]).toEqual([true, reason])
})

test('only the first abort counts', () => {
  const stop = new Stop()
  const { signal } = stop
  const reason = new Error('the node is shutting down')
  stop.abort(reason)
  stop.abort(new Error('took too long'))
  expect([stop.reason, signal.reason]).toEqual([reason, reason])
})

test('a run that throws because of the abort fails with the reason of the abort', async () => {
  const stop = new Stop()
  const reason = new Error('the node is shutting down')
  const failed = stop.within(60_000, async () => {
    stop.abort(reason)
    throw new Error('interrupted')
  })
  await expect(failed).rejects.toBe(reason)
})

test('a run that ends in time leaves no timer behind, and one that fails keeps its error', async () => {
  const stop = new Stop()
  await stop.within(1_000, async () => undefined)
  await expect(stop.within(1_000, () => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
  expect([vi.getTimerCount(), stop.reason]).toEqual([0, undefined])
})

test('a run is aborted at its timeout, and is waited for a little longer', async () => {
  const stop = new Stop()
  const { signal } = stop
  const result = heard(stop.within(1_000, () => new Promise(() => undefined)))
  await vi.advanceTimersByTimeAsync(999)
  expect(signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect([signal.aborted, result.ended]).toEqual([true, false])
  await vi.advanceTimersByTimeAsync(GRACE_MS - 1)
  expect(result.ended).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(result.error).toMatchObject({ name: 'TimeoutError', message: 'took longer than 1000 ms' })
  expect(vi.getTimerCount()).toBe(0)
})

test('a run that was aborted before it began is not waited for longer', async () => {
  const stop = new Stop()
  const reason = new Error('the node is shutting down')
  stop.abort(reason)
  const result = heard(stop.within(60_000, () => new Promise(() => undefined)))
  await vi.advanceTimersByTimeAsync(GRACE_MS)
  expect(result.error).toBe(reason)
})

test('an abort after the run has ended sets no timer', async () => {
  const stop = new Stop()
  await stop.within(1_000, async () => undefined)
  stop.abort(new Error('too late'))
  expect(vi.getTimerCount()).toBe(0)
})
