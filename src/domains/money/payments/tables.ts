import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User } from '../../identity/users/index.ts'
import type { Line } from '../ledger/index.ts'
import type { PurposeInput, PurposeKind } from './purposes.ts'
import type { PaymentStatusName } from './states.ts'

type Details = Readonly<Record<string, unknown>>

/** A payment of a user: in the contract, a transaction. It is written before a gateway hears of it. */
const Payment = defineEntity({
  name: 'Payment',
  tableName: 'payments',
  uniques: [
    { name: 'payments_reference_key', properties: ['reference'] },
    { name: 'payments_request_key', properties: ['requestKey'] },
    { name: 'payments_gateway_reference_key', properties: ['gateway', 'gatewayReference'] },
  ],
  checks: [
    { name: 'payments_amount', expression: 'amount > 0' },
    { name: 'payments_refunded', expression: '0 <= refunded_amount and refunded_amount <= received_amount' },
  ],
  indexes: [
    { name: 'payments_by_user', properties: ['userId', 'id'] },
    {
      name: 'payments_by_check',
      expression: 'create index payments_by_check on payments (check_at) where check_at is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: references(User, { name: 'payments_user_id_fkey', onDelete: 'no action' }),
    /** What the payer and the bank see. */
    reference: p.text(),
    /** Makes a charge of the service repeatable: the same key is the same payment. */
    requestKey: p.text().nullable(),
    gateway: p.text(),
    /** The id of the payment at the gateway. Null until the gateway has confirmed it. */
    gatewayReference: p.text().nullable(),
    purpose: p.text().$type<PurposeKind>(),
    description: p.text(),
    input: p.json<PurposeInput>(),
    details: p.json<Details>(),
    /** Where the money goes when the payment succeeds. */
    credits: p.json<readonly Line[]>(),
    amount: p.bigint('number'),
    currency: p.text(),
    receivedAmount: p.bigint('number').defaultRaw('0'),
    refundedAmount: p.bigint('number').defaultRaw('0'),
    status: p.text().$type<PaymentStatusName>(),
    /** Why the payment failed, by the gateway's code. */
    failureCode: p.text().nullable(),
    failureMessage: p.text().nullable(),
    /** `wallet` when the money came too late for its purpose. */
    settledTo: p.text().$type<'purpose' | 'wallet'>().nullable(),
    paymentMethodId: p.uuid().nullable(),
    /** Charged without the payer being present. */
    offSession: p.boolean(),
    saveMethod: p.boolean(),
    /** What only one gateway needs, such as the address of an invoice. */
    gatewayData: p.json<Details>().defaultRaw(`'{}'`),
    /** When the sweeper asks the gateway for the outcome. Null when there is nothing to ask. */
    checkAt: timestamp().nullable(),
    checks: p.integer().default(0),
    expiresAt: timestamp().nullable(),
    /** The payment must be paid by then, because a coupon that few can use is held for it. */
    couponHeldUntil: timestamp().nullable(),
    settledAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** One change of a payment's status, with who or what made it. Never changed. */
const PaymentChange = defineEntity({
  name: 'PaymentChange',
  tableName: 'payment_changes',
  indexes: [{ name: 'payment_changes_by_payment', properties: ['paymentId', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    paymentId: references(Payment, { name: 'payment_changes_payment_id_fkey', onDelete: 'no action' }),
    fromStatus: p.text().$type<PaymentStatusName>().nullable(),
    toStatus: p.text().$type<PaymentStatusName>(),
    cause: p.text(),
    actorId: p.uuid().nullable(),
    reason: p.text().nullable(),
    createdAt: timestamp(),
  },
})

/** Money that went back, or is on its way back. It is written before the gateway hears of it. */
const PaymentRefund = defineEntity({
  name: 'PaymentRefund',
  tableName: 'payment_refunds',
  uniques: [{ name: 'payment_refunds_gateway_reference_key', properties: ['paymentId', 'gatewayReference'] }],
  indexes: [
    { name: 'payment_refunds_by_payment', properties: ['paymentId', 'id'] },
    {
      name: 'payment_refunds_by_check',
      expression: 'create index payment_refunds_by_check on payment_refunds (check_at) where check_at is not null',
    },
  ],
  checks: [{ name: 'payment_refunds_amount', expression: 'amount > 0' }],
  properties: {
    id: p.uuid().primary(),
    paymentId: references(Payment, { name: 'payment_refunds_payment_id_fkey', onDelete: 'no action' }),
    amount: p.bigint('number'),
    currency: p.text(),
    status: p.text().$type<'created' | 'succeeded' | 'failed'>(),
    gatewayReference: p.text().nullable(),
    reason: p.text(),
    /** Null for a refund that was made at the gateway. */
    actorId: p.uuid().nullable(),
    checkAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A card or other method that a user has saved at a gateway. */
const PaymentMethod = defineEntity({
  name: 'PaymentMethod',
  tableName: 'payment_methods',
  uniques: [{ name: 'payment_methods_reference_key', properties: ['gateway', 'reference'] }],
  indexes: [
    { name: 'payment_methods_by_user', properties: ['userId', 'id'] },
    {
      name: 'payment_methods_default_key',
      expression: 'create unique index payment_methods_default_key on payment_methods (user_id) where is_default',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: references(User, { name: 'payment_methods_user_id_fkey', onDelete: 'cascade' }),
    gateway: p.text(),
    reference: p.text(),
    kind: p.text(),
    brand: p.text().nullable(),
    last4: p.text().nullable(),
    expiryMonth: p.integer().nullable(),
    expiryYear: p.integer().nullable(),
    /** The same for the same card, whoever uses it. */
    fingerprint: p.text().nullable(),
    isDefault: p.boolean(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** The customer that stands for a user at a gateway. */
const GatewayCustomer = defineEntity({
  name: 'GatewayCustomer',
  tableName: 'gateway_customers',
  uniques: [{ name: 'gateway_customers_reference_key', properties: ['gateway', 'reference'] }],
  properties: {
    userId: references(User, { name: 'gateway_customers_user_id_fkey', onDelete: 'cascade' }).primary(),
    gateway: p.text().primary(),
    reference: p.text(),
    createdAt: timestamp(),
  },
})

/** A webhook as it came, and what it led to. */
const GatewayEvent = defineEntity({
  name: 'GatewayEvent',
  tableName: 'gateway_events',
  uniques: [{ name: 'gateway_events_event_key', properties: ['gateway', 'eventId'] }],
  indexes: [
    {
      name: 'gateway_events_unmatched',
      expression: `create index gateway_events_unmatched on gateway_events (id) where outcome not in ('applied', 'ignored')`,
    },
    {
      name: 'gateway_events_by_payment',
      expression: 'create index gateway_events_by_payment on gateway_events (payment_id) where payment_id is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    gateway: p.text(),
    eventId: p.text(),
    type: p.text(),
    outcome: p.text().$type<GatewayEventOutcome>(),
    /** What is wrong with it, in words. */
    note: p.text().nullable(),
    paymentId: p.uuid().nullable(),
    payload: p.json<Details>(),
    /** How often it came. */
    deliveries: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** The address of an invoice in tokens. Rows stay, because a number must not be used again. */
const TokenInvoice = defineEntity({
  name: 'TokenInvoice',
  tableName: 'token_invoices',
  uniques: [
    { name: 'token_invoices_payment_key', properties: ['paymentId'] },
    { name: 'token_invoices_address_key', properties: ['address'] },
  ],
  indexes: [{ name: 'token_invoices_by_time', properties: ['coin', 'createdAt'] }],
  properties: {
    /** The key of the address is the child of the extended public key with this number. */
    index: p.integer().primary().autoincrement(false),
    coin: p.text(),
    paymentId: references(Payment, { name: 'token_invoices_payment_id_fkey', onDelete: 'no action' }),
    address: p.text(),
    data: p.json<Details>(),
    createdAt: timestamp(),
  },
})

export type GatewayEventOutcome =
  | 'received'
  | 'applied'
  | 'ignored'
  | 'unknown'
  | 'foreign'
  | 'contradicting'
  | 'missed'
  | 'refused'

export const payments = table(Payment)
export const paymentChanges = table(PaymentChange)
export const paymentRefunds = table(PaymentRefund)
export const paymentMethods = table(PaymentMethod)
export const gatewayCustomers = table(GatewayCustomer)
export const gatewayEvents = table(GatewayEvent)
export const tokenInvoices = table(TokenInvoice)

export type PaymentRow = Row<typeof Payment>
export type RefundRow = Row<typeof PaymentRefund>
export type MethodRow = Row<typeof PaymentMethod>
export type GatewayEventRow = Row<typeof GatewayEvent>

export const paymentEntities = [
  Payment,
  PaymentChange,
  PaymentRefund,
  PaymentMethod,
  GatewayCustomer,
  GatewayEvent,
  TokenInvoice,
]
