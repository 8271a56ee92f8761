import { expect, test } from 'vitest'
import { DAY } from '../../../../core/clock.ts'
import { keptAfter } from './retention.ts'

const NOW = Date.parse('2026-11-23T04:00:00Z')
const inDays = (days: number) => new Date(NOW + days * DAY).toISOString()
const settled = (days: number) => ({ days, nextDays: null, shortensAt: null })
const waiting = { days: 800, nextDays: 90, shortensAt: inDays(5) }

test.each([
  ['the first time, what the plan keeps', undefined, 90, settled(90), false],
  ['a larger plan applies at once', settled(90), 800, settled(800), false],
  ['a smaller plan applies in 30 days', settled(800), 90, { ...waiting, shortensAt: inDays(30) }, true],
  ['meanwhile nothing changes', waiting, 90, waiting, false],
  ['back on the plan, it never applies', waiting, 800, settled(800), false],
  ['a plan in between keeps the day', waiting, 400, { ...waiting, nextDays: 400 }, false],
  ['an even smaller plan begins again', waiting, 30, { days: 800, nextDays: 30, shortensAt: inDays(30) }, true],
  ['on the day it applies', { ...waiting, shortensAt: inDays(0) }, 90, settled(90), false],
])('%s', (_, kept, limit, expected, isShorter) => {
  expect(keptAfter(kept, limit, NOW)).toEqual({ ...expected, isShorter })
})
