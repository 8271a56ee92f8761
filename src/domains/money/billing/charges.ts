import type { BillingRequest } from './pricing.ts'

/** How a charge went. What it pays for is applied by the settlement of the payment, not by the caller. */
export interface ChargeOutcome {
  /**
   * `unprofiled`: the billing profile is not complete. Nothing was tried.
   * `unavailable`: there is no payment method, and too little in the wallet. Nothing was tried.
   * `too_small`: the gateway takes no amount this small, and the wallet has too little.
   * `superseded`: it was paid, but the subscription had changed, so the money is in the wallet.
   */
  readonly status: 'succeeded' | 'pending' | 'failed' | 'unprofiled' | 'unavailable' | 'too_small' | 'superseded'
}

/** Charges customers without them: the default payment method, or else the wallet. */
export interface Charger {
  /** @param key the same key is the same payment, however often it is called */
  charge(userId: string, request: BillingRequest, key: string): Promise<ChargeOutcome>
}
