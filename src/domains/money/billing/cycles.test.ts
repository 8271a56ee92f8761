import { assert, constantFrom, integer, property } from 'fast-check'
import { expect, test } from 'vitest'
import { TERM_MONTHS } from '../plans/index.ts'
import { cycleFrom, cyclesFrom, cycleUntil, leftOf, leftSince } from './cycles.ts'

const at = (text: string) => Date.parse(`${text}Z`)
const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const anchors = integer({ min: at('2019-01-01T00:00'), max: at('2032-12-31T23:59') })
const terms = constantFrom('month', 'quarter', 'year')

test('a subscription that began on the 31st ends on the last day of short months, and returns to the 31st', () => {
  const anchor = at('2026-01-31T10:00')
  expect(cyclesFrom(anchor, anchor, 'month', 5).map(({ end }) => day(end))).toEqual([
    '2026-02-28',
    '2026-03-31',
    '2026-04-30',
    '2026-05-31',
    '2026-06-30',
  ])
})

test('a subscription that began on 29 February returns to the 29th in leap years', () => {
  const anchor = at('2024-02-29T08:30')
  expect(cyclesFrom(anchor, anchor, 'year', 4).map(({ end }) => day(end))).toEqual([
    '2025-02-28',
    '2026-02-28',
    '2027-02-28',
    '2028-02-29',
  ])
  expect(cyclesFrom(anchor, anchor, 'quarter', 4).map(({ end }) => day(end))).toEqual([
    '2024-05-29',
    '2024-08-29',
    '2024-11-29',
    '2025-02-28',
  ])
})

test('cycles follow each other without gaps, whatever terms are mixed, and keep the day of the anchor', () => {
  assert(
    property(anchors, terms, terms, integer({ min: 1, max: 30 }), (anchor, first, second, count) => {
      const before = cyclesFrom(anchor, anchor, first, count)
      const cycles = [...before, ...cyclesFrom(anchor, before.at(-1)?.end ?? anchor, second, count)]
      for (const [index, cycle] of cycles.entries()) {
        expect(cycle.end).toBeGreaterThan(cycle.start)
        expect(cycle.start).toBe(index === 0 ? anchor : cycles[index - 1]?.end)
        const end = new Date(cycle.end)
        const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate()
        expect(end.getUTCDate()).toBe(Math.min(new Date(anchor).getUTCDate(), lastDay))
        expect(cycle.end % 86_400_000).toBe(anchor % 86_400_000)
      }
      const months = count * (TERM_MONTHS[first] + TERM_MONTHS[second])
      const end = new Date(cycles.at(-1)?.end ?? 0)
      const start = new Date(anchor)
      const passed = (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth()
      expect(passed).toBe(months)
    }),
  )
})

test('the cycle that ends at a moment is the one that was counted from the anchor', () => {
  assert(
    property(anchors, terms, integer({ min: 1, max: 30 }), (anchor, term, count) => {
      for (const cycle of cyclesFrom(anchor, anchor, term, count)) {
        expect(cycleUntil(anchor, cycle.end, term)).toEqual(cycle)
      }
    }),
  )
})

test('what is left of a cycle is counted in seconds, and a second that has begun is used', () => {
  const cycle = cycleFrom(at('2026-03-01T00:00'), at('2026-03-01T00:00'), 'month')
  const of = 31 * 86_400
  expect(leftOf(cycle, cycle.start)).toEqual({ left: of, of })
  expect(leftOf(cycle, cycle.start + 1)).toEqual({ left: of - 1, of })
  expect(leftOf(cycle, cycle.start + 1_000)).toEqual({ left: of - 1, of })
  expect(leftOf(cycle, cycle.end - 1)).toEqual({ left: 0, of })
  expect(leftOf(cycle, cycle.start - 5)).toEqual({ left: of, of })
  expect(leftOf(cycle, cycle.end + 5)).toEqual({ left: 0, of })
})

test('what is left of the rest of a cycle is all of it at its beginning', () => {
  const cycle = cycleFrom(at('2026-03-01T00:00'), at('2026-03-01T00:00'), 'month')
  const since = cycle.start + 1_500
  expect(leftSince(cycle, since, since)).toEqual({ left: 31 * 86_400 - 2, of: 31 * 86_400 - 2 })
  expect(leftSince(cycle, since, since + 1_000)).toEqual({ left: 31 * 86_400 - 3, of: 31 * 86_400 - 2 })
  expect(leftSince(cycle, cycle.end - 1, cycle.end - 1)).toEqual({ left: 0, of: 1 })
})
