import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../../core/clock.ts'
import { WEEKDAYS } from '../../../../core/local-times.ts'
import { nextFree, parseQueue, slotsAfter, type Queue, type QueueInput, type QueueSlot } from './queue.ts'
import { MoreTaken, SortedTimes } from './taken-times.ts'
import type { ZoneRules } from '../time/zones.ts'

/** Another seed gives other cases. */
const SEED = 20261130

const BERLIN = 'Europe/Berlin'
const NOBODY = new SortedTimes()

function queue(input: Partial<QueueInput> & { readonly slots: readonly QueueSlot[] }): Queue {
  const outcome = parseQueue({ timezone: BERLIN, ...input })
  if (!outcome.ok) throw new Error(outcome.problem.message)
  return outcome.value
}

const daily = (...times: string[]): QueueSlot[] =>
  WEEKDAYS.flatMap((weekday) => times.map((time) => ({ weekday, time })))

const shown = ({ slots }: ReturnType<typeof nextFree>) =>
  slots.map(({ adjustment, wallClock }) => adjustment?.usedTime ?? wallClock)

const MONDAY = new Date('2026-11-30T08:00:00Z') // 09:00 in Berlin

describe('the work of a search is bounded', () => {
  test('days of blackouts are skipped, however many slots they have', () => {
    const times = Array.from(
      { length: 71 },
      (_, index) => `${String(Math.floor(index / 3)).padStart(2, '0')}:${20 * (index % 3) || '00'}`,
    )
    const blackouts = Array.from({ length: 500 }, (_, index) => {
      const day = (offset: number) => new Date(MONDAY.getTime() + (2 * index + offset) * DAY).toISOString().slice(0, 10)
      return { from: day(-1), to: day(1) }
    })
    let looked = 0
    const rules: ZoneRules = {
      offsetAt: () => {
        looked += 1
        return HOUR
      },
    }
    const dark = queue({ slots: daily(...times), blackouts })
    const found = nextFree(dark, { accountIds: ['a'] }, { taken: NOBODY, after: MONDAY, count: 1 }, rules)
    expect(found.exhausted?.message).toContain('blackouts cover all of them')
    expect(looked).toBeLessThan(10)
    expect(dark.blackouts).toHaveLength(1)
  })

  test('blackouts are found in any order', () => {
    const week = queue({
      slots: daily('12:00'),
      blackouts: [
        { from: '2026-12-06', to: '2026-12-08' },
        { from: '2026-12-01', to: '2026-12-01' },
        { from: '2026-12-03', to: '2026-12-03' },
        { from: '2026-12-07', to: '2026-12-07' },
      ],
    })
    expect(shown(nextFree(week, { accountIds: ['a'] }, { taken: NOBODY, after: MONDAY, count: 6 }))).toEqual(
      ['2026-11-30', '2026-12-02', '2026-12-04', '2026-12-05', '2026-12-09', '2026-12-10'].map(
        (day) => `${day}T12:00:00`,
      ),
    )
  })
})

describe('free slots', () => {
  test('are in order, after the instant, and skip taken times', () => {
    const taken = new SortedTimes([['a', [Date.parse('2026-12-02T16:30:00Z')]]])
    const week = queue({
      slots: [
        { weekday: 'wednesday', time: '17:30' },
        { weekday: 'monday', time: '09:00' },
        { weekday: 'monday', time: '17:30' },
      ],
    })
    const found = nextFree(week, { accountIds: ['a'] }, { taken, after: MONDAY, count: 3 })
    expect(shown(found)).toEqual(['2026-11-30T17:30:00', '2026-12-07T09:00:00', '2026-12-07T17:30:00'])
    expect(found.exhausted).toBeNull()
    const other = nextFree(week, { accountIds: ['b'] }, { taken, after: MONDAY, count: 2 })
    expect(shown(other)).toEqual(['2026-11-30T17:30:00', '2026-12-02T17:30:00'])
    const both = nextFree(week, { accountIds: ['b', 'a'] }, { taken, after: MONDAY, count: 2 })
    expect(shown(both)).toEqual(['2026-11-30T17:30:00', '2026-12-07T09:00:00'])
  })

  test('are chosen by label and account', () => {
    const week = queue({
      slots: [
        { weekday: 'tuesday', time: '08:00', label: 'tips' },
        { weekday: 'tuesday', time: '09:00', accountIds: ['a', 'b'] },
        { weekday: 'tuesday', time: '10:00' },
      ],
    })
    const next = (accountIds: string[], label?: string) =>
      shown(nextFree(week, { accountIds, label }, { taken: NOBODY, after: MONDAY, count: 1 }))
    expect(next(['a'])).toEqual(['2026-12-01T09:00:00'])
    expect(next(['b', 'a'])).toEqual(['2026-12-01T09:00:00'])
    expect(next(['a', 'c'])).toEqual(['2026-12-01T10:00:00'])
    expect(next(['c'], 'tips')).toEqual(['2026-12-01T08:00:00'])
  })

  test('keep the least distance between posts of one account, also among those that are returned', () => {
    const close = queue({ slots: daily('09:00', '09:30', '10:00', '10:01'), minimumGapMinutes: 60 })
    const taken = new SortedTimes([['a', [Date.parse('2026-12-01T07:30:00Z')]]]) // 08:30
    expect(shown(nextFree(close, { accountIds: ['a'] }, { taken, after: MONDAY, count: 4 }))).toEqual([
      '2026-11-30T09:30:00',
      '2026-12-01T09:30:00',
      '2026-12-02T09:00:00',
      '2026-12-02T10:00:00',
    ])
  })

  test('are not on blackout days', () => {
    const days = queue({
      slots: daily('09:00'),
      blackouts: [
        { from: '2026-12-01', to: '2026-12-01' },
        { from: '2026-12-03', to: '2026-12-31' },
      ],
    })
    expect(shown(nextFree(days, { accountIds: ['a'] }, { taken: NOBODY, after: MONDAY, count: 2 }))).toEqual([
      '2026-12-02T09:00:00',
      '2027-01-01T09:00:00',
    ])
  })

  test('50 posts at once get 50 slots', () => {
    const week = queue({ slots: daily('09:00', '12:00') })
    const taken = new SortedTimes()
    const instants = Array.from({ length: 50 }, () => {
      const [slot] = nextFree(week, { accountIds: ['a'] }, { taken, after: MONDAY, count: 1 }).slots
      const at = slot?.instant.getTime() ?? 0
      taken.add('a', at)
      return at
    })
    expect(new Set(instants).size).toBe(50)
    const preview = nextFree(week, { accountIds: ['a'] }, { taken: NOBODY, after: MONDAY, count: 50 })
    expect(preview.slots.map(({ instant }) => instant.getTime())).toEqual(instants)
  })
})

describe('changes of clocks', () => {
  const after = new Date('2026-03-28T12:00:00Z')

  test('a slot of a missing hour moves forward, once if it meets another slot', () => {
    const night = queue({ slots: daily('02:30', '03:00', '03:30') })
    const found = nextFree(night, { accountIds: ['a'] }, { taken: NOBODY, after, count: 3 })
    expect(shown(found)).toEqual(['2026-03-29T03:00:00', '2026-03-29T03:30:00', '2026-03-30T02:30:00'])
    const moved = nextFree(queue({ slots: daily('02:30') }), { accountIds: ['a'] }, { taken: NOBODY, after, count: 1 })
    expect(moved.slots[0]).toMatchObject({
      wallClock: '2026-03-29T02:30:00',
      instant: new Date('2026-03-29T01:30:00Z'),
      adjustment: { kind: 'gap', usedTime: '2026-03-29T03:30:00' },
    })
  })

  test('a slot of an hour that occurs twice is the first, and not offered again in the second', () => {
    const night = queue({ slots: daily('02:30') })
    const first = new Date('2026-10-25T00:30:00Z')
    const options = { taken: NOBODY, count: 1 }
    const next = (instant: Date) =>
      nextFree(night, { accountIds: ['a'] }, { ...options, after: instant }).slots[0]?.instant
    expect(next(new Date(first.getTime() - 1))).toEqual(first)
    expect(next(first)).toEqual(new Date('2026-10-26T01:30:00Z'))
  })
})

describe('no free slot', () => {
  test('says that no slot fits', () => {
    const week = queue({ slots: [{ weekday: 'monday', time: '09:00', label: 'tips' }] })
    expect(nextFree(week, { accountIds: ['a'] }, { taken: NOBODY, after: MONDAY, count: 1 })).toEqual({
      slots: [],
      exhausted: {
        code: 'no_slots',
        message: 'The queue has no slot without a label for all accounts of the post. Add one.',
      },
    })
  })

  test('says why, and where the search ended', () => {
    const full = { within: (_: string, from: number) => from }
    const week = queue({ slots: daily('09:00') })
    const none = nextFree(week, { accountIds: ['a'] }, { taken: full, after: MONDAY, count: 1, horizonDays: 10 })
    expect(none.slots).toEqual([])
    expect(none.exhausted?.code).toBe('no_free_slot')
    expect(none.exhausted?.message).toContain('in the next 10 days: 10 of 10 are taken')
    const dark = queue({ slots: daily('09:00'), blackouts: [{ from: '2026-01-01', to: '2040-01-01' }] })
    expect(
      nextFree(dark, { accountIds: ['a'] }, { taken: NOBODY, after: MONDAY, count: 1 }).exhausted?.message,
    ).toContain('blackouts cover all of them')
  })

  test('the search ends at its horizon, however many posts there are', () => {
    const asked: number[] = []
    const full = { within: (_: string, from: number) => (asked.push(from), from) }
    nextFree(queue({ slots: daily('09:00') }), { accountIds: ['a'] }, { taken: full, after: MONDAY, count: 20 })
    expect(asked).toHaveLength(731)
  })
})

test.each([
  [{ timezone: 'Berlin' }, 'timezone', 'unknown_timezone'],
  [{ slots: [{ weekday: 'monday', time: '9:00' }] }, 'slots', 'invalid_time'],
  [{ slots: [{ weekday: 'monday', time: '24:00' }] }, 'slots', 'invalid_time'],
  [{ slots: [{ weekday: 'Mon', time: '09:00' }] }, 'slots', 'invalid_weekday'],
  [{ slots: Array.from({ length: 501 }, () => ({ weekday: 'monday', time: '09:00' })) }, 'slots', 'too_many'],
  [{ blackouts: [{ from: '2026-12-24', to: '2026-12-23' }] }, 'blackouts', 'invalid_date'],
  [{ blackouts: [{ from: '2026-12-24', to: '2026-13-01' }] }, 'blackouts', 'invalid_date'],
  [{ minimumGapMinutes: -1 }, 'minimumGapMinutes', 'out_of_range'],
  [{ minimumGapMinutes: Number.NaN }, 'minimumGapMinutes', 'out_of_range'],
])('a queue with %j is refused', (input, field, code) => {
  expect(parseQueue({ timezone: BERLIN, slots: [], ...(input as object) })).toMatchObject({ problem: { field, code } })
})

const times = fc.array(fc.integer({ min: 0, max: 30 * 24 * 60 }), { maxLength: 60 })

test('taken times are those of a plain list', () => {
  fc.assert(
    fc.property(times, times, fc.array(fc.nat(30 * 24 * 60), { maxLength: 20 }), (base, more, removed) => {
      const sorted = new SortedTimes([['a', base]])
      const plain = [...base]
      for (const at of removed) {
        sorted.remove('a', at)
        if (plain.includes(at)) plain.splice(plain.indexOf(at), 1)
      }
      const taken = new MoreTaken(sorted)
      for (const at of more) taken.add('a', at)
      for (let from = 0; from < 30 * 24 * 60; from += 977) {
        const inside = [...plain, ...more].filter((at) => at >= from && at <= from + 500)
        expect(taken.within('a', from, from + 500)).toBe(inside.length === 0 ? undefined : Math.max(...inside))
        expect(taken.within('b', from, from + 500)).toBeUndefined()
      }
    }),
    { numRuns: 50, seed: SEED },
  )
})

test('free slots are the slots that are free, in order, none twice', () => {
  const zones = fc.constantFrom('Europe/Berlin', 'Australia/Lord_Howe', 'Pacific/Apia', 'America/Sao_Paulo')
  const slots = fc.array(
    fc.record({
      weekday: fc.constantFrom(...WEEKDAYS),
      time: fc
        .tuple(fc.integer({ min: 0, max: 4 }), fc.constantFrom('00', '15', '30'))
        .map(([hour, minute]) => `0${hour}:${minute}`),
    }),
    { minLength: 1, maxLength: 12 },
  )
  const starts = fc.constantFrom(
    '2026-03-27T00:00:00Z',
    '2026-10-02T00:00:00Z',
    '2011-12-28T00:00:00Z',
    '2018-11-02T00:00:00Z',
  )
  fc.assert(
    fc.property(zones, slots, starts, times, fc.constantFrom(0, 1, 45, 600), (timezone, slots, start, minutes, gap) => {
      const week = queue({ timezone, slots, minimumGapMinutes: gap })
      const after = new Date(start)
      const busy = minutes.map((minute) => after.getTime() + minute * MINUTE)
      const taken = new SortedTimes([['a', busy]])
      const found = nextFree(week, { accountIds: ['a'] }, { taken, after, count: 12 }).slots.map(({ instant }) =>
        instant.getTime(),
      )
      const all = [...slotsAfter(week, { accountIds: ['a'] }, after, 60)].map(({ instant }) => instant.getTime())
      expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b))
      const want: number[] = []
      const near = (one: number) => (other: number) =>
        gap === 0 ? one === other : Math.abs(one - other) < gap * MINUTE
      for (const at of all) if (![...busy, ...want].some(near(at))) want.push(at)
      expect(found.slice(0, want.length)).toEqual(want.slice(0, found.length))
      expect(found.every((at) => at > after.getTime() && at < after.getTime() + 731 * DAY + HOUR)).toBe(true)
    }),
    { numRuns: 100, seed: SEED },
  )
})
