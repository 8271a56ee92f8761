import type { Config } from '../../../config/config.ts'
import type { InvoiceContent } from './content.ts'
import type { TaxSeller } from './tax/tax.ts'
import { normalizeVatNumber } from './tax/vat-numbers.ts'

export type Seller = InvoiceContent['seller']

/** The seller on new invoices, as it is configured. */
export function sellerOf(config: Config): Seller {
  return {
    name: config.SELLER_NAME,
    street: config.SELLER_STREET ?? '',
    city: config.SELLER_CITY ?? '',
    postalCode: config.SELLER_POSTAL_CODE ?? '',
    country: config.SELLER_COUNTRY ?? null,
    vatNumber: config.SELLER_VAT_NUMBER === undefined ? null : normalizeVatNumber(config.SELLER_VAT_NUMBER),
    taxNumber: config.SELLER_TAX_NUMBER ?? null,
    email: config.SELLER_EMAIL ?? null,
  }
}

export function taxSellerOf({ country, vatNumber }: Seller): TaxSeller {
  return { country: country ?? undefined, vatNumber: vatNumber ?? undefined }
}
