import type { GatewayPayment } from './gateways/gateway.ts'
import type { GatewayEventData, PaymentData, PaymentStartData, RefundData } from './schemas.ts'
import { isOpen } from './states.ts'
import type { GatewayEventRow, PaymentRow, RefundRow } from './tables.ts'

/** A payment, as its payer sees it. */
export function paymentView(row: PaymentRow): PaymentData {
  const isHeld = row.couponHeldUntil !== null && isOpen(row.status)
  const { amount, createdAt, currency, description, expiresAt, failureCode, failureMessage, gateway, id } = row
  const { purpose, receivedAmount, reference, refundedAmount, settledAt, settledTo, status, updatedAt } = row
  return {
    _id: id,
    reference,
    gateway,
    purpose,
    description,
    amount,
    currency,
    receivedAmount,
    refundedAmount,
    status,
    failureCode,
    failureMessage,
    settledTo,
    settledAt,
    expiresAt,
    couponHeldUntil: isHeld ? (expiresAt ?? row.couponHeldUntil) : null,
    createdAt,
    updatedAt,
  }
}

/** A payment with what the payer needs in order to go on. Secrets are shown only while the payment is open. */
export function startView(
  row: PaymentRow,
  publicKey: string | null,
  seen?: Pick<GatewayPayment, 'clientSecret'>,
): PaymentStartData {
  const isPayable = row.status === 'pending' || row.status === 'requires_action'
  const { crypto, instructions } = row.gatewayData as {
    readonly instructions?: string
    readonly crypto?: PaymentStartData['crypto']
  }
  return {
    payment: paymentView(row),
    clientSecret: isPayable ? (seen?.clientSecret ?? null) : null,
    publicKey,
    instructions: instructions ?? null,
    crypto: crypto ?? null,
  }
}

export function refundView(row: RefundRow): RefundData {
  const { actorId, amount, createdAt, currency, id, paymentId, reason, status, updatedAt } = row
  return { _id: id, paymentId, amount, currency, status, reason, actorId, createdAt, updatedAt }
}

export function eventView(row: GatewayEventRow): GatewayEventData {
  const { createdAt, deliveries, eventId, gateway, id, note, outcome, paymentId, payload, type, updatedAt } = row
  return { _id: id, gateway, eventId, type, outcome, note, paymentId, deliveries, payload, createdAt, updatedAt }
}
