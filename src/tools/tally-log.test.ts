import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TallyLog } from './tally-log.ts'
import type { MediaLog } from '../../media/types.ts'

let lines: { level: string; message: string; fields: Record<string, unknown> }[]
let tally: TallyLog

beforeEach(() => {
  vi.useFakeTimers()
  lines = []
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...fields } })
  const log: MediaLog = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  tally = new TallyLog(log, { intervalMs: 10_000, linesPerKind: 2, maxKinds: 3 })
})
afterEach(() => vi.useRealTimers())

const refuse = (reason: string, path: number) =>
  tally.add({ level: 'info', message: 'peer refused', reason, fields: { path } })

test('writes the first lines of a kind and counts the others', () => {
  for (let path = 0; path < 84_000; path++) refuse('unknown key', path)
  refuse('expired', 1)
  expect(lines.map(({ fields }) => fields['path'])).toEqual([0, 1, 1])
  vi.advanceTimersByTime(10_000)
  expect(lines).toHaveLength(4)
  expect(lines[3]).toEqual({
    level: 'info',
    message: 'peer refused (more of the same)',
    fields: { reason: 'unknown key', count: 83_998, seconds: 10, last: { path: 83_999 } },
  })
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(4)
  refuse('unknown key', 5)
  expect(lines.at(-1)?.fields).toEqual({ reason: 'unknown key', path: 5 })
})

test('counts reasons beyond the limit of kinds together', () => {
  for (let index = 0; index < 1_000; index++) refuse(`reason ${index}`, index)
  tally.flush()
  expect(lines).toHaveLength(3 + 2 + 1)
  expect(lines.at(-1)?.fields).toMatchObject({ reason: 'other reasons', count: 995 })
})
