import { describe, expect, test } from 'vitest'
import { HOUR, ManualClock, SECOND } from '../../../../core/clock.ts'
import { PublicationPace } from './pace.ts'

const clock = new ManualClock()
const late = (accountId: string, platform = 'one') => ({ accountId, platform, dueAt: clock.now() - HOUR })

describe('the pace of publication', () => {
  test('starts what is on time at once, however much it is', () => {
    const pace = new PublicationPace(clock, () => undefined)
    const places = Array.from({ length: 100 }, () => pace.placeOf({ ...late('a'), dueAt: clock.now() }))
    expect(new Set(places)).toEqual(new Set([clock.now()]))
  })

  test('spreads what is late by account and by platform, in order', () => {
    const pace = new PublicationPace(clock, () => undefined)
    const now = clock.now()
    const places = ['a', 'a', 'b', 'c'].map((account) => pace.placeOf(late(account)) - now)
    expect(places).toEqual([0, 1_000, 200, 300])
    expect(pace.placeOf(late('d', 'two')) - now).toBe(0)
  })

  test('keeps the hourly limit of a platform', () => {
    const pace = new PublicationPace(clock, (platform) => (platform === 'one' ? 4 : undefined))
    const now = clock.now()
    const places = ['a', 'a', 'b', 'a', 'a'].map((account) => pace.placeOf(late(account)) - now)
    expect(places).toEqual([0, 1_000, 200, HOUR / 2, HOUR])
  })

  test('forgets places that have passed', () => {
    const pace = new PublicationPace(clock, () => undefined)
    pace.placeOf(late('a'))
    clock.advance(10 * SECOND)
    expect(pace.placeOf(late('a'))).toBe(clock.now())
  })
})
