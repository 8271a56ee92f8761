import { NotFound, Conflict } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf, Type } from '../../../core/schema.ts'
import { InsufficientFunds } from '../ledger/index.ts'
import {
  AmountTooSmall,
  BillingProfileNeeded,
  GatewayNotConfigured,
  GatewayUnavailable,
  PaymentDeclined,
  PurposeUnavailable,
  WebhookInvalid,
} from './errors.ts'
import {
  CryptoInvoice,
  InitializePayment,
  MethodCharge,
  PaymentConfig,
  PaymentStart,
  PaymentView,
  TransactionQuery,
  VerifyPayment,
  WalletPayment,
  WebhookPath,
} from './schemas.ts'

const TOP_UP = { purpose: 'wallet', amount: 2_500, currency: 'USD' } as const

export const getPaymentConfig = operation({
  route: 'GET /api/payments/config',
  summary: 'Get the ways to pay',
  description: 'The gateways that this server has, with what a front end needs in order to use them.',
  access: 'user',
  returns: { 200: Envelope(PaymentConfig) },
  example: {},
  handle: async ({ payments }) => {
    const gateways = payments.gateways.all().map(({ config, key }) => ({ key, ...config }))
    return ok('Ways to pay', { gateways: gateways.map((gateway) => ({ ...gateway, ...copied(gateway) })) })
  },
})

const copied = ({
  coins,
  currencies,
  minimums,
}: {
  readonly coins: readonly string[]
  readonly currencies: readonly string[]
  readonly minimums: Readonly<Record<string, number>>
}) => ({
  coins: [...coins],
  currencies: [...currencies],
  minimums: { ...minimums },
})

export const initializePayment = operation({
  route: 'POST /api/payments/initialize',
  summary: 'Begin a payment',
  description:
    'Records the payment, and prepares it at the gateway. The payer completes it in the browser with `clientSecret` and `publicKey`, or by a transfer as in `instructions`. The price comes from the server. Send an Idempotency-Key to repeat the request safely.',
  access: 'user',
  body: InitializePayment,
  languages: true,
  returns: { 201: Envelope(PaymentStart) },
  errors: [
    BillingProfileNeeded,
    GatewayNotConfigured,
    GatewayUnavailable,
    PaymentDeclined,
    AmountTooSmall,
    PurposeUnavailable,
    Conflict,
  ],
  example: { body: { ...TOP_UP, gateway: 'stripe' } },
  handle: async ({ acceptLanguage: accepted, body, caller: { userId }, payments }) => {
    const { gateway, purpose, saveMethod, ...input } = body
    const how = { gateway, ...(saveMethod !== undefined && { saveMethod }) }
    return created('Payment begun', await payments.charges.initialize({ userId, purpose, input, accepted }, how))
  },
})

export const verifyPayment = operation({
  route: 'POST /api/payments/verify',
  summary: 'Find out what has become of a payment',
  description:
    'Asks the gateway, and settles the payment if it was paid. However often it is called, the payment is settled once.',
  access: 'user',
  body: VerifyPayment,
  returns: { 200: Envelope(PaymentStart) },
  errors: [NotFound, GatewayUnavailable],
  example: { body: { reference: 'CR-7KQ2M-XW94D' } },
  handle: async ({ body, caller, payments }) => ok('Payment', await payments.charges.verify(caller, body.reference)),
})

export const payWithWallet = operation({
  route: 'POST /api/payments/wallet',
  summary: 'Pay with the money in the wallet',
  description: 'The wallet never goes below zero, whatever runs at the same time.',
  access: 'user',
  body: WalletPayment,
  languages: true,
  returns: { 201: Envelope(PaymentView) },
  errors: [BillingProfileNeeded, InsufficientFunds, PurposeUnavailable, Conflict],
  example: { body: { purpose: 'credits', creditCount: 500 } },
  handle: async ({ acceptLanguage: accepted, body: { purpose, ...input }, caller: { userId }, payments }) =>
    created('Paid', await payments.charges.payWithWallet({ userId, purpose, input, accepted })),
})

export const chargeSavedMethod = operation({
  route: 'POST /api/payments/charge',
  summary: 'Pay with a saved payment method',
  description:
    'The status `requires_action` means that the bank wants a confirmation: complete the payment in the browser with `clientSecret`. Send an Idempotency-Key to repeat the request safely.',
  access: 'user',
  body: MethodCharge,
  languages: true,
  returns: { 201: Envelope(PaymentStart) },
  errors: [
    NotFound,
    BillingProfileNeeded,
    GatewayNotConfigured,
    GatewayUnavailable,
    PaymentDeclined,
    AmountTooSmall,
    PurposeUnavailable,
    Conflict,
  ],
  example: { body: TOP_UP },
  handle: async ({ acceptLanguage: accepted, body, caller: { userId }, payments }) => {
    const { paymentMethodId, purpose, ...input } = body
    const more = paymentMethodId === undefined ? {} : { paymentMethodId }
    return created('Charged', await payments.charges.chargeSaved({ userId, purpose, input, accepted, ...more }))
  },
})

export const createCryptoInvoice = operation({
  route: 'POST /api/payments/crypto',
  summary: 'Begin a payment in a cryptocurrency',
  description:
    'Creates an invoice for a payment to the wallet in a cryptocurrency. Each invoice has its own address, an amount in coins, and a time at which the exchange rate expires. Underpayments, overpayments and late payments are credited to the wallet at the amount received.',
  access: 'user',
  body: CryptoInvoice,
  languages: true,
  returns: { 201: Envelope(PaymentStart) },
  errors: [GatewayNotConfigured, GatewayUnavailable],
  example: { body: { amount: 2_500, currency: 'USD', coin: 'ltc' } },
  handle: async ({ acceptLanguage: accepted, body: { coin, ...input }, caller: { userId }, payments }) => {
    const how = { gateway: payments.gateways.forCoin(coin).key, coin }
    return created(
      'Payment begun',
      await payments.charges.initialize({ userId, purpose: 'wallet', input, accepted }, how),
    )
  },
})

export const paymentWebhook = operation({
  route: 'POST /api/payments/webhooks/{gateway}',
  summary: 'Take a webhook of a payment gateway',
  description:
    'The signature is checked. An event may come any number of times, late and in any order. What it says is looked up at the gateway. 503 asks the gateway to send it again.',
  access: 'public',
  limit: 'none',
  path: WebhookPath,
  signature: 'stripe-signature',
  body: Type.String({
    maxLength: 1_000_000,
    description: 'The event, as the gateway has signed it',
    'x-verbatim': true,
  }),
  bodyType: 'application/json',
  bodyLimit: 1_000_000,
  returns: { 200: Done },
  errors: [GatewayNotConfigured, GatewayUnavailable, WebhookInvalid],
  example: { path: { gateway: 'stripe' }, body: '{"id":"evt_1","object":"event"}' },
  handle: async ({ body, path: { gateway }, payments, signature }) => {
    await payments.events.receive(gateway, { body, signature })
    return done('Received')
  },
})

export const listTransactions = operation({
  route: 'GET /api/users/me/transactions',
  summary: 'List your payments',
  description: 'Newest first, with those that failed.',
  access: 'user',
  query: TransactionQuery,
  returns: { 200: ListOf(PaymentView) },
  example: { query: { status: ['succeeded'], from: '2026-01-01T00:00:00Z' } },
  handle: async ({ caller, payments, query }) =>
    list('Payments', await payments.transactions.list(caller, query, pageRequest(query))),
})
