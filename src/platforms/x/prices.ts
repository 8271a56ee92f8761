import type { Price } from '../platform.ts'

const PRICING = {
  currency: 'USD',
  source: 'docs.x.com, X API pay-per-usage pricing and credits',
  seen: '2026-08',
  confidence: 'read',
} as const

/** What X charges the app for the calls that publishing makes. A post of a thread costs as much as any other. */
export const prices: readonly Price[] = [
  { per: 'post', amount: 0.015, ...PRICING },
  { per: 'post_with_link', amount: 0.2, ...PRICING },
  // After a lost reply, the post is looked up in the account's own timeline. Each post that is read is charged.
  { per: 'read', amount: 0.001, ...PRICING, confidence: 'vendor' },
]
