import { list, fail, optional, text, url, withDefault } from './setting-readers.ts'

const currencies = (value: string): string[] => {
  const codes = list(value).map((code) => code.toUpperCase())
  const areCodes = codes.length > 0 && codes.every((code) => /^[A-Z]{3}$/.test(code))
  return areCodes ? codes : fail('must list codes of ISO 4217, such as USD,EUR')
}

/** Settings of payments: rows of `SETTINGS` in config.ts. Each gateway is off until it is configured. */
export const paymentSettings = {
  STRIPE_SECRET_KEY: {
    summary: 'Secret key of Stripe, for payments by card',
    fallback: 'off',
    secret: true,
    parse: optional(text),
  },
  STRIPE_PUBLISHABLE_KEY: { summary: 'Publishable key of Stripe', fallback: 'none', parse: optional(text) },
  STRIPE_WEBHOOK_SECRET: {
    summary: 'Secret of the webhook endpoint at Stripe, whose URL is PUBLIC_URL/api/payments/webhooks/stripe',
    fallback: 'none',
    secret: true,
    parse: optional(text),
  },
  STRIPE_API_URL: {
    summary: 'URL of the Stripe API, if it is not Stripe itself',
    fallback: 'https://api.stripe.com',
    parse: optional(url('https', 'http')),
  },
  STRIPE_SCRIPT_URL: {
    summary: 'URL of the script that shows Stripe’s form for cards on /billing, if it is not Stripe’s own',
    fallback: 'https://js.stripe.com/…/stripe.js, the release of the API version',
    parse: optional(url('https', 'http')),
  },
  BANK_TRANSFER_INSTRUCTIONS: {
    summary: 'How to pay by bank transfer: account holder, bank and account. Administrators book what arrives',
    fallback: 'off',
    parse: optional(text),
  },
  BANK_TRANSFER_CURRENCIES: {
    summary: 'Currencies of the bank account, comma-separated',
    fallback: 'USD',
    parse: withDefault(currencies, ['USD'] as string[]),
  },
} as const
