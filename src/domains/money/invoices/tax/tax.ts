import { scaled } from '../../ledger/index.ts'
import { isInEu, standardRate } from './rates.ts'
import { isVatNumber } from './vat-numbers.ts'

/** Why a tax is charged or not. */
export type TaxTreatment = 'standard' | 'reverse_charge' | 'outside'

/** What the tax depends on, of the seller. */
export interface TaxSeller {
  /** ISO 3166-1 alpha-2. Without it, no tax is charged. */
  readonly country: string | undefined
  readonly vatNumber: string | undefined
}

/** What the tax depends on, of the buyer. */
export interface TaxBuyer {
  readonly kind: 'person' | 'business'
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  readonly vatNumber: string | null
}

/** The tax on a sale of an electronic service. */
export interface TaxRule {
  readonly treatment: TaxTreatment
  /** Where the tax is due. */
  readonly country: string | null
  /** Hundredths of a percent. */
  readonly basisPoints: number
  /** The VAT number of the buyer, who owes the tax under reverse charge. */
  readonly vatNumber: string | null
}

/** A tax on a net amount, as quotes and invoices show it. */
export interface Tax extends TaxRule {
  /** Such as `VAT 19 % (Germany)`. */
  readonly description: string
  /** What it is calculated on, in minor units. */
  readonly net: number
  readonly amount: number
}

const OUTSIDE: TaxRule = { treatment: 'outside', country: null, basisPoints: 0, vatNumber: null }

/**
 * The rule for a sale of an electronic service (Directive 2006/112/EC, articles 44, 58 and 196).
 * @param at the time of the sale, in milliseconds since the epoch
 */
export function taxRule(seller: TaxSeller, buyer: TaxBuyer, at: number): TaxRule {
  if (seller.country === undefined) return OUTSIDE
  const { country } = buyer
  if (!isInEu(country)) return OUTSIDE
  if (country !== seller.country && isTaxable(buyer, country)) {
    return { treatment: 'reverse_charge', country, basisPoints: 0, vatNumber: buyer.vatNumber }
  }
  // A seller outside of the Union charges its taxes only once it is registered there.
  if (!isInEu(seller.country) && seller.vatNumber === undefined) return OUTSIDE
  return { treatment: 'standard', country, basisPoints: standardRate(country, at), vatNumber: null }
}

/** The tax on a net amount. The amount is rounded half to even, once, on the sum of the lines. */
export function taxOn(rule: TaxRule, net: number): Tax {
  return { ...rule, description: describe(rule), net, amount: scaled(net, rule.basisPoints, 10_000) }
}

/**
 * The taxes on a net amount: previews, charges and invoices get the same.
 * @param net the sum of the lines without tax, in minor units
 * @returns no tax where none is due; under reverse charge a tax of 0 with its reason
 */
export function quoteTaxes(rule: TaxRule, net: number): Tax[] {
  return rule.treatment === 'outside' ? [] : [taxOn(rule, net)]
}

function isTaxable({ kind, vatNumber }: TaxBuyer, country: string): boolean {
  return kind === 'business' && vatNumber !== null && isVatNumber(vatNumber, country)
}

function describe({ basisPoints, country, treatment }: TaxRule): string {
  if (treatment === 'outside') return 'Not subject to VAT'
  if (treatment === 'reverse_charge') return 'VAT 0 % (reverse charge)'
  return `VAT ${basisPoints / 100} % (${countryName(country ?? '')})`
}

/** The name of a country in a language. */
export function countryName(country: string, language = 'en'): string {
  return new Intl.DisplayNames([language], { type: 'region' }).of(country) ?? country
}
