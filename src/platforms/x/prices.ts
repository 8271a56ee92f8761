/** What X charges the app for a call, in US dollars. */
interface Price {
  readonly action: 'post' | 'post_with_url' | 'delete' | 'read_own_post' | 'read_user'
  readonly usd: number
  readonly source: string
  readonly seen: string
}

const PRICING = { source: 'docs.x.com, X API pay-per-usage pricing', seen: '2026-08' }

/** Prices of the calls that publishing makes. A post of a thread costs as much as any other. */
export const PRICES: readonly Price[] = [
  { action: 'post', usd: 0.015, ...PRICING },
  { action: 'post_with_url', usd: 0.2, ...PRICING },
  { action: 'delete', usd: 0.01, ...PRICING },
  { action: 'read_own_post', usd: 0.001, ...PRICING },
  { action: 'read_user', usd: 0.01, ...PRICING },
]
