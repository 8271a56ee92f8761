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
   * @returns a pure function of the sum of the lines without tax, in minor units. It gives no taxes until the buyer has
   *   said in which country they are: such a price can be shown, and nothing can be bought
   */
  async of(sql: Sql, userId: string, at: number): Promise<(net: number) => Tax[]> {
    const buyer = await this.#profiles.taxBuyer(sql, userId)
    if (buyer === undefined) return () => []
    const rule = taxRule(taxSellerOf(this.#seller), buyer, at)
    return (net) => quoteTaxes(rule, net)
  }
}
