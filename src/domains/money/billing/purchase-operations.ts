import { Conflict, NotFound } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { operation } from '../../../core/operation.ts'
import { empty, ok } from '../../../core/reply.ts'
import { Envelope, Id, Input, Type } from '../../../core/schema.ts'
import { AmountTooSmall, BillingProfileNeeded, GatewayUnavailable, PaymentDeclined } from '../payments/index.ts'
import { CouponNotValid, PaymentNeeded, PaymentUnfinished } from './errors.ts'
import {
  CouponCode,
  CycleView,
  ExtraAccountsView,
  MAX_EXTRA_ACCOUNTS,
  MAX_TERMS,
  Plan,
  ProrationInput,
  SubscriptionView,
} from './schemas.ts'

const PAYMENT_ERRORS = [
  Conflict,
  BillingProfileNeeded,
  PaymentNeeded,
  PaymentUnfinished,
  PaymentDeclined,
  AmountTooSmall,
  GatewayUnavailable,
]

const HOW = 'Charges the default payment method, or the wallet if there is none. 402 says why it was not possible.'

export const upgradeSubscription = operation({
  route: 'POST /api/subscriptions/upgrade',
  summary: 'Upgrade to a larger plan now',
  description: `Unused time of the current cycle counts, to the second. ${HOW}`,
  access: 'user',
  body: Input({ planName: Plan }),
  languages: true,
  returns: { 200: null },
  errors: PAYMENT_ERRORS,
  example: { body: { planName: 'pro' } },
  handle: async ({ acceptLanguage, billing, body, caller }) => {
    await billing.checkout.buy(caller.userId, { kind: 'upgrade', planName: body.planName }, acceptLanguage)
    return empty()
  },
})

export const upgradeCycles = operation({
  route: 'POST /api/billing/upgrade',
  summary: 'Upgrade the plan, the term or the number of accounts now',
  description: `All paid cycles change. POST /api/billing/proration-preview has the price. ${HOW}`,
  access: 'user',
  body: ProrationInput,
  languages: true,
  returns: { 200: Envelope(SubscriptionView) },
  errors: [...PAYMENT_ERRORS, CouponNotValid],
  example: { body: { planName: 'pro', term: 'year' } },
  handle: async ({ acceptLanguage, billing, body, caller }) => {
    await billing.checkout.buy(caller.userId, { kind: 'upgrade', ...body }, acceptLanguage)
    return ok('Subscription upgraded', await billing.reader.subscription(caller.userId))
  },
})

export const renewSubscription = operation({
  route: 'POST /api/subscriptions/renew',
  summary: 'Pay the cycle that is due, or further cycles ahead',
  description: HOW,
  access: 'user',
  body: Input({
    terms: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_TERMS, default: 1, description: 'How many cycles to pay' }),
    ),
    couponCode: Type.Optional(CouponCode),
  }),
  bodyOptional: true,
  languages: true,
  returns: { 200: Envelope(SubscriptionView) },
  errors: [...PAYMENT_ERRORS, CouponNotValid],
  example: { body: { terms: 1 } },
  handle: async ({ acceptLanguage, billing, body, caller }) => {
    const { couponCode, terms = 1 } = body ?? {}
    await billing.checkout.buy(caller.userId, { kind: 'renewal', terms, couponCode }, acceptLanguage)
    return ok('Subscription renewed', await billing.reader.subscription(caller.userId))
  },
})

export const addExtraAccounts = operation({
  route: 'POST /api/subscriptions/extra-accounts',
  summary: 'Buy extra social accounts for the rest of the cycle',
  description: `The limit of social accounts rises at once. ${HOW}`,
  access: 'user',
  body: Input({ count: Type.Integer({ minimum: 1, maximum: MAX_EXTRA_ACCOUNTS }) }),
  languages: true,
  returns: { 200: Envelope(ExtraAccountsView) },
  errors: PAYMENT_ERRORS,
  example: { body: { count: 2 } },
  handle: async ({ acceptLanguage, billing, body, caller: { userId } }) => {
    const { extraAccounts } = await billing.reader.extraAccounts(userId, 0)
    await billing.checkout.buy(userId, { kind: 'upgrade', extraAccounts: extraAccounts + body.count }, acceptLanguage)
    return ok('Extra accounts added', await billing.reader.extraAccounts(userId, await billing.usedAccounts(userId)))
  },
})

export const createCyclesFromTransaction = operation({
  route: 'POST /api/billing/cycles/from-transaction',
  summary: 'Add the cycles that a payment has paid for',
  description: 'Returns them if they exist already. It is safe to repeat.',
  access: 'admin',
  body: Input({ transactionId: Id }),
  languages: true,
  returns: { 200: Envelope(Type.Array(CycleView)) },
  errors: [NotFound, Conflict],
  example: { body: { transactionId: EXAMPLE.paymentId } },
  handle: async ({ acceptLanguage, billing, body, caller }) => {
    const cycles = await billing.checkout.cyclesOf(body.transactionId)
    return ok('Cycles', await billing.reader.show(caller.userId, cycles, acceptLanguage))
  },
})
