import { expect, it } from 'vitest'
import { costOf } from './prices.ts'

const SOURCE = { currency: 'USD', source: 'docs.example', seen: '2026-11', confidence: 'read' } as const
const prices = [
  { per: 'post', amount: 0.015, ...SOURCE },
  { per: 'post_with_link', amount: 0.2, ...SOURCE },
] as const
const base = { media: [], options: {} }

it('adds up the parts of a post, those with a link at their own price', () => {
  const post = { ...base, text: 'Hello', thread: [{ text: 'see example.com', media: [] }], firstComment: 'First' }
  expect(costOf({ prices }, post)).toEqual({ amount: 0.23, currency: 'USD' })
  expect(costOf({ prices }, { ...base, text: 'a', link: 'https://example.com' })?.amount).toBe(0.2)
})

it('is undefined where the platform is free', () => {
  expect(costOf({}, { ...base, text: 'Hello' })).toBeUndefined()
})
