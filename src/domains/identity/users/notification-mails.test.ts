import { expect, test } from 'vitest'
import { HOUR } from '../../../core/clock.ts'
import { quietUntil } from './notification-mails.ts'

const at = (time: string) => Date.parse(`2026-11-30T${time}:00Z`)
const quiet = { enabled: true, start: '22:00', end: '07:00', timezone: null }

test('mails wait for the end of quiet hours, also past midnight and in another zone', () => {
  expect(quietUntil(quiet, 'UTC', at('21:59'))).toBe(at('21:59'))
  expect(quietUntil(quiet, 'UTC', at('22:00'))).toBe(at('22:00') + 9 * HOUR)
  expect(quietUntil(quiet, 'UTC', at('06:59'))).toBe(at('07:00'))
  expect(quietUntil(quiet, 'UTC', at('07:00'))).toBe(at('07:00'))
  expect(quietUntil(quiet, 'Europe/Berlin', at('21:00'))).toBe(at('21:00') + 9 * HOUR)
  expect(quietUntil({ ...quiet, timezone: 'UTC' }, 'Europe/Berlin', at('21:00'))).toBe(at('21:00'))
  expect(quietUntil({ ...quiet, enabled: false }, 'UTC', at('23:00'))).toBe(at('23:00'))
  expect(quietUntil({ ...quiet, start: '12:00', end: '13:00' }, 'UTC', at('12:30'))).toBe(at('13:00'))
})
