import { assert, constantFrom, array, property } from 'fast-check'
import { expect, test } from 'vitest'
import { DAY, HOUR } from '../../../core/clock.ts'
import { after, DUNNING_DAYS, nextCharge, SUBSCRIPTION_EVENTS, TRANSITIONS, type SubscriptionState } from './states.ts'

const STATES = Object.keys(TRANSITIONS) as SubscriptionState[]

test('every state can be reached, and left', () => {
  const reached = new Set<SubscriptionState>(['active'])
  for (const state of reached) for (const next of Object.values(TRANSITIONS[state])) reached.add(next)
  expect([...reached].toSorted()).toEqual(STATES.toSorted())
  for (const state of STATES) expect(Object.keys(TRANSITIONS[state])).not.toEqual([])
})

test('an event that is not in the table cannot happen', () => {
  expect(after('expired', 'renewed')).toBeUndefined()
  expect(after('past_due', 'changed')).toBeUndefined()
  expect(after('cancelled', 'charge_failed')).toBeUndefined()
})

test('a subscription that has ended starts only with a payment', () => {
  assert(
    property(array(constantFrom(...SUBSCRIPTION_EVENTS), { maxLength: 30 }), (events) => {
      let state: SubscriptionState = 'active'
      for (const event of events) {
        const next = after(state, event)
        if (next === undefined) continue
        if (state === 'expired') expect([event, next]).toEqual(['started', 'active'])
        if (next === 'past_due') expect(event).toBe('charge_failed')
        state = next
      }
    }),
  )
})

test('a failed charge is repeated after 1, 3, 5 and 7 days, and then no more', () => {
  const since = Date.parse('2026-02-28T10:00:00Z')
  const times: number[] = []
  for (let at = nextCharge(since, since); at !== undefined; at = nextCharge(since, at)) times.push(at)
  expect(times.map((at) => (at - since) / DAY)).toEqual([...DUNNING_DAYS])
  expect(nextCharge(since, since + 2 * DAY)).toBe(since + 3 * DAY)
  expect(nextCharge(since, since + 7 * DAY - HOUR)).toBe(since + 7 * DAY)
})
