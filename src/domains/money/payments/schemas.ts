import type { Static } from 'typebox'
import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { PLAN_NAMES } from '../../identity/users/index.ts'
import { MAX_AMOUNT } from '../ledger/index.ts'
import { PURPOSES } from './purposes.ts'
import { PaymentStatus } from './states.ts'

const Amount = (description: string) => Type.Integer({ minimum: 0, description: `${description}, in minor units` })
const Currency = Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217' })
const GatewayKey = Type.String({
  pattern: '^[a-z0-9_-]{1,32}$',
  maxLength: 32,
  description: 'One of the gateways that GET /api/payments/config lists',
})

export const PaymentView = named(
  'Payment',
  Type.Object({
    ...ResourceBase,
    reference: Type.String({ description: 'What payers and banks see' }),
    gateway: Type.String({ description: '`wallet` for a payment from the wallet' }),
    purpose: OneOf(PURPOSES),
    description: Type.String(),
    amount: Amount('The price'),
    currency: Currency,
    receivedAmount: Amount('What has arrived'),
    refundedAmount: Amount('What was paid back'),
    status: PaymentStatus,
    failureCode: Nullable(Type.String({ description: 'The reason of the gateway for a refusal' })),
    failureMessage: Nullable(Type.String()),
    settledTo: Nullable(
      States('PaymentSettledTo', 'What the money was used for', {
        purpose: 'It has paid for what the payment was made for',
        wallet: 'It is in the wallet, because it came too late, was too little, or the purpose no longer exists',
      }),
    ),
    settledAt: Nullable(Timestamp),
    expiresAt: Nullable(Timestamp),
    couponHeldUntil: Nullable(
      Type.String({
        ...Timestamp,
        description:
          'Until when a coupon that only some customers can use is held for this payment: at most seven days. Then the payment expires and others can use the coupon. Null if none is held',
      }),
    ),
  }),
)
export type PaymentData = Static<typeof PaymentView>

const CryptoTerms = named(
  'CryptoTerms',
  Type.Object({
    coin: Type.String(),
    address: Type.String(),
    coinAmount: Type.String({ description: 'What to send, as a decimal number of coins' }),
    receivedCoinAmount: Type.String({ description: 'What was seen so far, confirmed or not' }),
    uri: Type.String({ description: 'For wallets and QR codes' }),
    confirmationsNeeded: Type.Integer(),
  }),
)

/** A payment with what the payer needs in order to go on. */
export const PaymentStart = named(
  'PaymentStart',
  Type.Object({
    payment: PaymentView,
    clientSecret: Nullable(
      Type.String({ description: 'With it, the gateway’s script in the browser completes the payment' }),
    ),
    publicKey: Nullable(Type.String({ description: 'The public key of the gateway’s script' })),
    instructions: Nullable(Type.String({ description: 'What the payer does to pay by bank transfer' })),
    crypto: Nullable(CryptoTerms),
  }),
)
export type PaymentStartData = Static<typeof PaymentStart>

const GatewayConfigView = named(
  'PaymentGateway',
  Type.Object({
    key: Type.String(),
    title: Type.String(),
    kind: OneOf(['card', 'transfer', 'crypto']),
    publicKey: Nullable(Type.String()),
    scriptUrl: Nullable(
      Type.String({
        description: 'The gateway’s script, which asks for the card in the browser. Null if it needs none',
      }),
    ),
    currencies: Type.Array(Currency),
    minimums: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
      description: 'The smallest payment that it takes, in minor units by currency. Without an entry, there is none',
    }),
    coins: Type.Array(Type.String()),
    savesMethods: Type.Boolean({ description: 'Whether cards can be saved and charged later' }),
  }),
)
export const PaymentConfig = named('PaymentConfig', Type.Object({ gateways: Type.Array(GatewayConfigView) }))

const purposeFields = {
  purpose: OneOf(PURPOSES, {
    description: '`subscription`: a plan. `credits`: AI credits. `wallet`: money for the wallet',
  }),
  planName: Type.Optional(OneOf(PLAN_NAMES)),
  term: Type.Optional(OneOf(['month', 'quarter', 'year'])),
  couponCode: Type.Optional(Text(1, 50)),
  extraAccounts: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  creditCount: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'How many credits to buy' })),
  amount: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 100_000_000,
      description: 'How much to add to the wallet, in minor units',
    }),
  ),
  currency: Type.Optional(Currency),
}

export const InitializePayment = Input({
  ...purposeFields,
  gateway: GatewayKey,
  saveMethod: Type.Optional(Type.Boolean({ default: false, description: 'Keep the card for later payments' })),
})
export const WalletPayment = Input(purposeFields)
export const MethodCharge = Input({
  ...purposeFields,
  paymentMethodId: Type.Optional({ ...Id, description: 'The default method when absent' }),
})
export const CryptoInvoice = Input({
  amount: Type.Integer({ minimum: 100, maximum: 100_000_000, description: 'In minor units of the currency' }),
  currency: Type.Optional(Currency),
  coin: Type.String({
    pattern: '^[a-z0-9-]{1,32}$',
    maxLength: 32,
    description: 'One of the coins of the configuration',
  }),
})
export const VerifyPayment = Input({ reference: Text(1, 64) })

export const WebhookPath = Input({ gateway: GatewayKey })

export const PaymentMethodView = named(
  'PaymentMethod',
  Type.Object({
    ...ResourceBase,
    gateway: Type.String(),
    kind: Type.String({ description: 'Such as `card`' }),
    brand: Nullable(Type.String()),
    last4: Nullable(Type.String({ description: 'The last digits of the number' })),
    expiryMonth: Nullable(Type.Integer()),
    expiryYear: Nullable(Type.Integer()),
    isDefault: Type.Boolean(),
  }),
)
export type PaymentMethodData = Static<typeof PaymentMethodView>

export const PaymentMethodSetup = named(
  'PaymentMethodSetup',
  Type.Object({
    setupReference: Type.String(),
    clientSecret: Nullable(Type.String({ description: 'For the gateway’s script in the browser' })),
    publicKey: Nullable(Type.String()),
  }),
)
export type PaymentMethodSetupData = Static<typeof PaymentMethodSetup>

export const SetupInput = Input({ gateway: GatewayKey })
export const SavedSetupInput = Input({
  gateway: GatewayKey,
  setupReference: Text(1, 255, { pattern: '^[A-Za-z0-9_-]+$' }),
})
export const MethodPath = Input({ id: Id })
export const PaymentPath = Input({ id: Id })

export const TransactionQuery = Input({
  ...pageFields,
  status: Several(PaymentStatus),
  from: Type.Optional({ ...InstantInput, description: 'Made at this time or later' }),
  to: Type.Optional({ ...InstantInput, description: 'Made before this time' }),
})

const Reason = Text(3, 500, { description: 'Why. It is kept' })
export const RefundInput = Input({
  amount: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_AMOUNT, description: 'Everything that is left when absent' }),
  ),
  reason: Reason,
})
export const BookingInput = Input({
  receivedAmount: Type.Integer({
    minimum: 1,
    maximum: MAX_AMOUNT,
    description: 'What has arrived at the bank, in minor units',
  }),
  reason: Reason,
})

export const RefundView = named(
  'PaymentRefund',
  Type.Object({
    ...ResourceBase,
    paymentId: Id,
    amount: Amount('What is paid back'),
    currency: Currency,
    status: States('PaymentRefundStatus', 'How far a refund has come', {
      created: 'The refund is recorded, and the gateway has not confirmed it',
      succeeded: 'The money is on its way to the payer',
      failed: 'The refund was refused or returned',
    }),
    reason: Type.String(),
    actorId: Nullable(Id),
  }),
)
export type RefundData = Static<typeof RefundView>

const EventOutcome = States('GatewayEventOutcome', 'What a webhook has led to', {
  received: 'It has been stored, and waits for the gateway’s reply about its payment',
  applied: 'The payment has changed',
  ignored: 'It says nothing new',
  unknown: 'It names a payment of this server that does not exist',
  foreign: 'It is about another account, mode or program',
  contradicting: 'It contradicts what the gateway or this server knows',
  missed: 'No webhook came: the daily reconciliation has found the payment',
  refused: 'Its signature is missing, wrong or too old, so it may be forged. Nothing was looked up',
})

export const GatewayEventView = named(
  'GatewayEvent',
  Type.Object({
    ...ResourceBase,
    gateway: Type.String(),
    eventId: Type.String(),
    type: Type.String(),
    outcome: EventOutcome,
    note: Nullable(Type.String()),
    paymentId: Nullable(Id),
    deliveries: Type.Integer({ description: 'How often it came' }),
    payload: Type.Record(Type.String(), Type.Unknown()),
  }),
)
export type GatewayEventData = Static<typeof GatewayEventView>
export const GatewayEventQuery = Input({ ...pageFields, outcome: Several(EventOutcome) })
