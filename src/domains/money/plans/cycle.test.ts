import { assert, integer, property } from 'fast-check'
import { expect, test } from 'vitest'
import { cycleAt } from './cycle.ts'

const iso = (ms: number) => new Date(ms).toISOString().slice(0, 16)
const at = (text: string) => Date.parse(`${text}Z`)

test.each([
  ['2026-01-31T10:00', '2026-01-31T10:00', '2026-01-31T10:00', '2026-02-28T10:00'],
  ['2026-01-31T10:00', '2026-02-28T09:59', '2026-01-31T10:00', '2026-02-28T10:00'],
  ['2026-01-31T10:00', '2026-02-28T10:00', '2026-02-28T10:00', '2026-03-31T10:00'],
  ['2024-02-29T00:00', '2025-02-28T00:00', '2025-02-28T00:00', '2025-03-29T00:00'],
  ['2026-11-05T12:00', '2027-01-05T11:59', '2026-12-05T12:00', '2027-01-05T12:00'],
])('counted from %s, %s is in %s to %s', (anchor, now, start, end) => {
  const cycle = cycleAt(at(anchor), at(now))
  expect([iso(cycle.start), iso(cycle.end)]).toEqual([start, end])
})

test('a cycle contains its time, and cycles follow each other without gaps', () => {
  const from = at('2020-01-01T00:00')
  const moment = integer({ min: 0, max: 20 * 366 * 86_400_000 })
  assert(
    property(moment, moment, (first, later) => {
      const anchor = from + first
      const now = anchor + later
      const cycle = cycleAt(anchor, now)
      expect(cycle.start).toBeLessThanOrEqual(now)
      expect(cycle.end).toBeGreaterThan(now)
      expect(cycleAt(anchor, cycle.end).start).toBe(cycle.end)
    }),
  )
})
