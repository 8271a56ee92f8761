import { allocate, houseAccount, walletOf, type Line } from '../ledger/index.ts'
import type { Money } from './purposes.ts'
import type { PaymentRow } from './tables.ts'

type Payer = Pick<PaymentRow, 'currency' | 'gateway' | 'userId'>

/** The lines of the ledger's entries for payments. */

/** Money that the gateway holds for us is negative: the ledger shows what we owe or have earned as positive. */
export const atGateway = (gateway: string, amount: number, unit: string): Line => ({
  account: houseAccount(`gateway:${gateway}`, unit),
  amount: -amount,
})

export const adjustment = (amount: number, unit: string): Line => ({
  account: houseAccount('adjustments', unit),
  amount,
})

export const inWallet = (userId: string, { amount, currency }: Money): Line => ({
  account: walletOf(userId, currency),
  amount,
})

/** The account that the money of a payment comes from, and goes back to: the wallet, or the gateway. */
export function paidFrom({ currency, gateway, userId }: Payer, amount: number): Line {
  if (gateway === 'wallet') return inWallet(userId, { amount: -amount, currency })
  return atGateway(gateway, amount, currency)
}

/**
 * What a refund takes back, from the accounts that the payment went to. Revenue is not reduced: what was paid back is
 * booked as refunds. Parts of several refunds add up to the parts of the payment.
 * @param before what was refunded before
 */
export function refundLines(credits: readonly Line[], before: number, amount: number): Line[] {
  const weights = credits.map((line) => line.amount)
  const earlier = allocate(before, weights)
  return allocate(before + amount, weights).map((part, index) => {
    const { account } = credits[index] as Line
    const taken = (earlier[index] ?? 0) - part
    return { account: account.kind === 'revenue' ? houseAccount('refunds', account.unit) : account, amount: taken }
  })
}
