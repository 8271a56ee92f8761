import { expect, test } from 'vitest'
import { isTimeZone } from './time-zone.ts'

test.each(['Europe/Berlin', 'UTC', 'Asia/Calcutta', 'America/Argentina/Buenos_Aires'])('%s is a time zone', (name) => {
  expect(isTimeZone(name)).toBe(true)
})

test.each(['', '+02:00', '-0500', 'Europe/Atlantis', 'Berlin', '../etc/passwd'])('"%s" is not a time zone', (name) => {
  expect(isTimeZone(name)).toBe(false)
})
