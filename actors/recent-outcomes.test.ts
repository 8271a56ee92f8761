import { expect, it } from 'vitest'
import type { Reply } from './links/frames.ts'
import { RecentOutcomes } from './recent-outcomes.ts'

const value = (text: string): Reply => ({ kind: 'value', text })

function asked(recent: RecentOutcomes, id: string): Reply[] | undefined {
  const got: Reply[] = []
  return recent.join(id, (reply) => got.push(reply)) ? got : undefined
}

it('answers what is sent again: at once, or with the first', () => {
  const recent = new RecentOutcomes()
  const got: Reply[] = []
  const done = recent.begin('a', (reply) => got.push(reply))
  const later = asked(recent, 'a')
  expect(later).toEqual([])
  done(value('1'))
  expect([got, later, asked(recent, 'a')]).toEqual([[value('1')], [value('1')], [value('1')]])
})

it('forgets what was not done, so that it can be tried again', () => {
  const recent = new RecentOutcomes()
  recent.begin('a', () => undefined)({ kind: 'moved' })
  expect(asked(recent, 'a')).toBeUndefined()
})

it('remembers the last ones, not more than twice as many, and never forgets what is under way', () => {
  const recent = new RecentOutcomes(10)
  const slow = recent.begin('slow', () => undefined)
  for (let count = 0; count < 100; count += 1) recent.begin(`op${count}`, () => undefined)(value(''))
  const known = Array.from({ length: 100 }, (_, index) => asked(recent, `op${index}`) !== undefined)
  expect(known.slice(-9)).not.toContain(false)
  expect(known.filter(Boolean).length).toBeLessThanOrEqual(20)
  const waiting = asked(recent, 'slow')
  slow(value('late'))
  expect([waiting, asked(recent, 'slow')]).toEqual([[value('late')], [value('late')]])
})

it('remembers a bounded number of bytes', () => {
  const recent = new RecentOutcomes(1_000, 1_000)
  for (let count = 0; count < 100; count += 1) recent.begin(`op${count}`, () => undefined)(value('x'.repeat(100)))
  const known = Array.from({ length: 100 }, (_, index) => asked(recent, `op${index}`)).filter(Boolean).length
  expect(known).toBeGreaterThan(3)
  expect(known).toBeLessThanOrEqual(10)
})
