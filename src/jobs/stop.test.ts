import { expect, test } from 'vitest'
import { Stop } from './stop.ts'

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
