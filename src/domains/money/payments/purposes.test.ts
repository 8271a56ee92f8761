import { expect, test } from 'vitest'
import { houseAccount } from '../ledger/index.ts'
import type { PaymentStatusName, Purpose, PurposeQuote } from './index.ts'
import { checkQuote, Purposes } from './purposes.ts'
import { isOpen, mayBecome, OPEN, TRANSITIONS, UNPAID } from './states.ts'

const USD = 'USD'
const line = (kind: 'revenue' | 'tax', amount: number, unit = USD) => ({ account: houseAccount(kind, unit), amount })
const quoteOf = (amount: number, credits: PurposeQuote['credits']): PurposeQuote => ({
  total: { amount, currency: USD },
  description: 'Pro, one month',
  credits,
  details: {},
})
const purpose: Purpose = { quote: async () => quoteOf(1, [line('revenue', 1)]), settle: async () => true }

test('a purpose is registered once, and one that is not sold is refused', () => {
  const purposes = new Purposes()
  purposes.register('wallet', purpose)
  expect(purposes.get('wallet')).toBe(purpose)
  expect(() => purposes.register('wallet', purpose)).toThrow('twice')
  expect(() => purposes.get('credits')).toThrow(expect.objectContaining({ code: 'purpose_unavailable' }))
})

test('the parts of a quote add up to its total in one currency', () => {
  checkQuote(quoteOf(119, [line('revenue', 100), line('tax', 19)]))
  for (const wrong of [
    quoteOf(119, [line('revenue', 100)]),
    quoteOf(119, [line('revenue', 138), line('tax', -19)]),
    quoteOf(0, []),
    quoteOf(1.5, [line('revenue', 1.5)]),
    quoteOf(119, [line('revenue', 100), line('tax', 19, 'EUR')]),
  ]) {
    expect(() => checkQuote(wrong)).toThrow('has parts of')
  }
})

test('a payment never becomes open again, and money can arrive late', () => {
  const all = Object.keys(TRANSITIONS) as PaymentStatusName[]
  for (const from of all.filter((status) => !isOpen(status))) {
    for (const to of OPEN) expect(mayBecome(from, to), `${from} → ${to}`).toBe(false)
  }
  for (const from of UNPAID) expect(TRANSITIONS[from]).toEqual(['succeeded'])
  for (const status of all) expect(mayBecome(status, status)).toBe(false)
})
