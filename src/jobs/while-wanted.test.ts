import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '../core/log.ts'
import { CancelledError, runWhileWanted, type Report } from './while-wanted.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

/** Work that ends when the test says so. */
function start() {
  const saved: number[] = []
  const shown: unknown[] = []
  const state = { rows: 1, fails: false, report: undefined as Report | undefined, signal: undefined as unknown }
  const ended = Promise.withResolvers<string>()
  const job = new AbortController()
  const result = runWhileWanted(
    {
      log: createLog({ level: 'silent' }),
      progress: (...progress) => void shown.push(progress),
      signal: job.signal,
    },
    {
      detail: 'Encoding',
      save: async (percent) => {
        saved.push(percent)
        if (state.fails) throw new Error('the database is away')
        return state.rows
      },
      work: async (signal, report) => {
        Object.assign(state, { signal, report })
        signal.addEventListener('abort', () => ended.reject(new Error('interrupted')))
        return ended.promise
      },
    },
  )
  result.catch(() => undefined)
  const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000)
  return { end: ended.resolve, job, result, saved, seconds, shown, state }
}

test('progress is shown at once, and saved at the start and once a second', async () => {
  const { end, result, saved, seconds, shown, state } = start()
  await seconds(0)
  state.report?.(0.429)
  state.report?.(1, 'We play')
  expect(shown).toEqual([
    [42, 'Encoding', undefined],
    [99, 'Encoding', 'We play'],
  ])
  await seconds(0.999)
  expect(saved).toEqual([0])
  await seconds(0.001)
  expect(saved).toEqual([0, 99])
  end('done')
  expect(await result).toBe('done')
  await seconds(5)
  expect(saved).toEqual([0, 99])
})

test('work that is not wanted any more is aborted', async () => {
  const { result, saved, seconds, state } = start()
  await seconds(1)
  state.rows = 0
  await seconds(1)
  await expect(result).rejects.toThrow(CancelledError)
  expect(saved).toHaveLength(3)
})

test('work that was cancelled before its start is not started', async () => {
  const save = async () => 0
  const work = () => Promise.reject(new Error('started'))
  const context = {
    log: createLog({ level: 'silent' }),
    progress: () => undefined,
    signal: new AbortController().signal,
  }
  await expect(runWhileWanted(context, { detail: 'Encoding', save, work })).rejects.toThrow('the work was cancelled')
})

test('work continues when its progress cannot be saved, and is saved again a second later', async () => {
  const { end, result, saved, seconds, state } = start()
  await seconds(0)
  state.fails = true
  await seconds(2)
  state.fails = false
  await seconds(1)
  expect(saved).toHaveLength(4)
  end('done')
  expect(await result).toBe('done')
})

test('work is aborted with its job, and fails with its own error', async () => {
  const { job, result, seconds } = start()
  await seconds(0)
  job.abort()
  await expect(result).rejects.toThrow('interrupted')
})
