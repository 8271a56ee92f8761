import { expect, test } from 'vitest'
import { DAY, HOUR } from '../../../core/clock.ts'
import { mailTime, quietUntil, type Reader } from './readers.ts'
import { DEFAULT_SETTINGS } from './settings.ts'

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

test('quiet hours that contain a change to daylight saving time end at their time of day', () => {
  const night = Date.parse('2026-03-28T22:30:00Z') // 23:30 in Berlin. The clocks go forward at 02:00.
  expect(quietUntil(quiet, 'Europe/Berlin', night)).toBe(Date.parse('2026-03-29T05:00:00Z'))
})

test('mails of a digest wait for the next full hour, or for the morning in the zone of the reader', () => {
  const reader = (notifications: object): Reader => ({
    id: '1',
    email: 'ada@example.com',
    name: 'Ada',
    timezone: 'Europe/Berlin',
    language: 'en',
    notifications: { ...DEFAULT_SETTINGS.notifications, ...notifications },
    ui: DEFAULT_SETTINGS.ui,
  })
  expect(mailTime(reader({}), at('10:20'))).toBe(at('10:20'))
  expect(mailTime(reader({ digest: 'hourly' }), at('10:20'))).toBe(at('11:00'))
  expect(mailTime(reader({ digest: 'daily' }), at('06:20'))).toBe(at('07:00'))
  expect(mailTime(reader({ digest: 'daily' }), at('07:00'))).toBe(at('07:00') + DAY)
  const early = { enabled: true, start: '22:00', end: '09:00', timezone: null }
  expect(mailTime(reader({ digest: 'daily', quietHours: early }), at('06:20'))).toBe(at('08:00'))
})
