import { email, fail, optional, text, withDefault } from './setting-readers.ts'

const country = (value: string): string =>
  /^[A-Z]{2}$/.test(value) ? value : fail('must be two capital letters (ISO 3166-1), such as DE')
const prefix = (value: string): string =>
  /^[A-Z0-9-]{1,12}$/.test(value) ? value : fail('must have 1 to 12 capital letters, digits and hyphens')

/** Who sells, as invoices show it. */
export const sellerSettings = {
  SELLER_NAME: {
    summary: 'Legal name of the seller on invoices',
    fallback: 'Crier',
    parse: withDefault(text, 'Crier'),
  },
  SELLER_STREET: { summary: 'Street and number of the seller', fallback: 'none', parse: optional(text) },
  SELLER_POSTAL_CODE: { summary: 'Postal code of the seller', fallback: 'none', parse: optional(text) },
  SELLER_CITY: { summary: 'City of the seller', fallback: 'none', parse: optional(text) },
  SELLER_COUNTRY: {
    summary: 'Country of the seller (ISO 3166-1 alpha-2). VAT is charged only if it is set',
    fallback: 'none',
    parse: optional(country),
  },
  SELLER_VAT_NUMBER: {
    summary:
      'VAT number of the seller. Sellers outside of the European Union charge its VAT only with a number of its OSS',
    fallback: 'none',
    parse: optional(text),
  },
  SELLER_TAX_NUMBER: { summary: 'National tax number of the seller', fallback: 'none', parse: optional(text) },
  SELLER_EMAIL: { summary: 'Address for questions about invoices', fallback: 'none', parse: optional(email) },
  INVOICE_PREFIX: {
    summary: 'Series of new invoices. Credit notes have a separate series, with a C at its end',
    fallback: 'INV',
    parse: withDefault(prefix, 'INV'),
  },
  INVOICE_FONTS: {
    summary:
      'Folder with more fonts (TTF, OTF) for invoices. Built in: Latin, Greek, Cyrillic, Arabic, Hebrew, Thai, Chinese, Japanese, Korean',
    fallback: 'none',
    parse: optional(text),
  },
}
