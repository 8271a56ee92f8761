import { expect, test } from 'vitest'
import { ABBREVIATIONS, isKnownZone, isTimeZone, timeZoneFault } from './time-zone.ts'

test.each([
  'Europe/Berlin',
  'europe/berlin',
  'UTC',
  'Etc/UTC',
  'Asia/Calcutta',
  'Asia/Kolkata',
  'US/Eastern',
  'America/Argentina/Buenos_Aires',
])('%s is a time zone', (name) => {
  expect(isTimeZone(name)).toBe(true)
})

test.each(['', '+02:00', '-0500', 'Europe/Atlantis', 'Berlin', '../etc/passwd', 'America/EST'])(
  '"%s" is not a time zone',
  (name) => {
    expect(isTimeZone(name)).toBe(false)
  },
)

test.each([
  'EST',
  'est',
  'MST',
  'CET',
  'GMT',
  'BST',
  'IST',
  'PST8PDT',
  'Etc/GMT+5',
  'SystemV/EST5EDT',
  'Japan',
  'Zulu',
])('%s is refused, although Intl has rules for it', (name) => {
  expect(isKnownZone(name)).toBe(true)
  expect(isTimeZone(name)).toBe(false)
})

test.each([
  ['EST', 'Write America/New_York, America/Toronto or America/Panama, whichever you mean'],
  ['bst', 'Write Europe/London or Asia/Dhaka, whichever you mean'],
  ['AEDT', 'Write Australia/Sydney or Australia/Melbourne, whichever you mean'],
  ['Japan', 'Write Asia/Tokyo'],
  ['Berlin', 'Did you mean Europe/Berlin?'],
  ['Europe/Berln', 'Did you mean Europe/Berlin?'],
  ['America/New York', 'Did you mean America/New_York?'],
  ['+02:00', 'is an offset, not a time zone'],
  ['UTC+2', 'is an offset, not a time zone'],
  ['Etc/GMT-2', 'is an offset, not a time zone'],
  ['constructor', 'Write an IANA name'],
])('the fault of %s says what to write', (name, help) => {
  expect(timeZoneFault(name)).toContain(help)
})

test('every zone that an abbreviation may mean is accepted', () => {
  for (const zone of Object.values(ABBREVIATIONS).flat()) expect([zone, isTimeZone(zone)]).toEqual([zone, true])
})
