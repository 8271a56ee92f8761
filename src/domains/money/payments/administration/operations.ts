import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Conflict, NotFound } from '../../../../core/errors.ts'
import { operation } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { created, list, ok } from '../../../../core/reply.ts'
import { Envelope, ListOf } from '../../../../core/schema.ts'
import { GatewayUnavailable, RefundRefused } from '../errors.ts'
import {
  BookingInput,
  GatewayEventQuery,
  GatewayEventView,
  PaymentPath,
  PaymentView,
  RefundInput,
  RefundView,
} from '../schemas.ts'

export const refundPayment = operation({
  route: 'POST /api/payments/{id}/refund',
  summary: 'Pay a payment back',
  description:
    'In whole or in part. The refund is recorded before the gateway is asked, and repeated until its outcome is known. Transfers and coins are paid back by hand; this books it.',
  access: 'admin',
  path: PaymentPath,
  body: RefundInput,
  returns: { 201: Envelope(RefundView) },
  errors: [NotFound, RefundRefused, GatewayUnavailable],
  example: { path: { id: EXAMPLE.paymentId }, body: { amount: 1_000, reason: 'The service was down for a day' } },
  handle: async ({ body, caller, path, payments }) =>
    created('Refunded', await payments.refunds.refund(caller, path.id, body)),
})

export const bookPayment = operation({
  route: 'POST /api/payments/{id}/book',
  summary: 'Book a bank transfer',
  description:
    'Settles a payment by bank transfer. Money that is too little, too much or too late goes to the wallet of the payer.',
  access: 'admin',
  path: PaymentPath,
  body: BookingInput,
  returns: { 200: Envelope(PaymentView) },
  errors: [NotFound, Conflict],
  example: {
    path: { id: EXAMPLE.paymentId },
    body: { receivedAmount: 2_500, reason: 'Bank statement of 21 November' },
  },
  handle: async ({ body, caller, path, payments }) => ok('Booked', await payments.bookings.book(caller, path.id, body)),
})

export const listGatewayEvents = operation({
  route: 'GET /api/payments/events',
  summary: 'List webhooks that fit no payment',
  description:
    'Newest first: webhooks about unknown or foreign payments, those that contradict what is known, and payments that the daily reconciliation has found. `outcome` shows others.',
  access: 'admin',
  query: GatewayEventQuery,
  returns: { 200: ListOf(GatewayEventView) },
  example: { query: { outcome: ['unknown', 'foreign'] } },
  handle: async ({ payments, query }) =>
    list('Webhooks', await payments.events.list(pageRequest(query), query.outcome)),
})
