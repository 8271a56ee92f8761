import type { Sql } from '../../../core/sql.ts'
import type { BillingProfiles } from './profile.ts'
import { taxSellerOf, type Seller } from './seller.ts'
import { quoteTaxes, taxRule, type Tax } from './tax/tax.ts'

/** The taxes of users. Previews, charges and invoices use the same. */
export class Taxes {
  readonly #seller: Seller
  readonly #profiles: BillingProfiles

  constructor(seller: Seller, profiles: BillingProfiles) {
    this.#seller = seller
    this.#profiles = profiles
  }

  /**
   * The taxes on a net amount that a user pays.
   * @param at the time of the sale, in milliseconds since the epoch
   * @returns a pure function of the sum of the lines without tax, in minor units
   */
  async of(sql: Sql, userId: string, at: number): Promise<(net: number) => Tax[]> {
    const rule = taxRule(taxSellerOf(this.#seller), await this.#profiles.taxBuyer(sql, userId), at)
    return (net) => quoteTaxes(rule, net)
  }
}
