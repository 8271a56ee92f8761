import { hash } from 'node:crypto'

/** The unit of AI credits. Every other unit is an ISO 4217 currency. */
export const CREDIT = 'credit'

/** Accounts of one user. Their balances are never negative. */
export type OwnedKind = 'wallet' | 'credits'

/** Accounts of the house. `gateway:<key>` is the money that a gateway holds for us. */
export type HouseKind =
  | 'revenue'
  | 'tax'
  | 'fees'
  | 'refunds'
  | 'adjustments'
  | 'credits_issued'
  | 'credits_used'
  | 'credits_expired'
  | `gateway:${string}`

/**
 * An account of the ledger. Positive amounts are credits in the sense of bookkeeping, negative amounts are debits. So
 * what we owe or have earned is positive (`wallet`, `credits`, `revenue`, `tax`), and what we hold or have spent is
 * negative (`gateway:<key>`, `fees`, `refunds`).
 */
export type Account =
  | { readonly kind: OwnedKind; readonly ownerId: string; readonly unit: string }
  | { readonly kind: HouseKind; readonly ownerId: null; readonly unit: string }

export function walletOf(userId: string, currency: string): Account {
  return { kind: 'wallet', ownerId: userId, unit: currency }
}

export function creditsOf(userId: string): Account {
  return { kind: 'credits', ownerId: userId, unit: CREDIT }
}

export function houseAccount(kind: HouseKind, unit: string): Account {
  return { kind, ownerId: null, unit }
}

/**
 * The id of an account: a UUID of version 8 (RFC 9562) made of its name, so that lines can be written without reading
 * their accounts first.
 */
export function accountId({ kind, ownerId, unit }: Account): string {
  const digest = hash('sha256', `${kind}/${ownerId ?? ''}/${unit}`, 'hex')
  const variant = ((Number.parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(18, 20)}`,
    digest.slice(20, 32),
  ].join('-')
}
