import type { Stripe } from 'stripe'
import type { GatewayFailure, GatewayMethod, GatewayPayment, GatewayRefund, GatewaySetup } from '../gateway.ts'

/** The names under which Crier stores its own ids at Stripe. */
export const PAYMENT_ID = 'crier_payment'
export const REFUND_ID = 'crier_refund'
export const USER_ID = 'crier_user'

const STATUS: Readonly<Record<string, GatewayPayment['status']>> = {
  requires_action: 'requires_action',
  succeeded: 'succeeded',
  canceled: 'cancelled',
}

/** The code of a charge that the payer has to confirm with the bank (strong customer authentication). */
const AUTHENTICATION_REQUIRED = 'authentication_required'

export function statusOf(
  intent: Pick<Stripe.PaymentIntent, 'status' | 'last_payment_error'>,
): GatewayPayment['status'] {
  const needsPayer = intent.last_payment_error?.code === AUTHENTICATION_REQUIRED
  if (intent.status === 'requires_payment_method' && needsPayer) return 'requires_action'
  return STATUS[intent.status] ?? 'pending'
}

/** A payment intent, with what was read beside it. */
export function paymentOf(
  intent: Stripe.PaymentIntent,
  refunds: readonly Stripe.Refund[] = [],
  disputes: readonly Stripe.Dispute[] = [],
): GatewayPayment {
  const failure = failureOf(intent.last_payment_error)
  const paymentId = intent.metadata[PAYMENT_ID]
  const dispute = disputes.at(0)
  const method = intent.payment_method
  const saved = intent.setup_future_usage === 'off_session' && typeof method === 'object' && method !== null
  return {
    reference: intent.id,
    ...(paymentId !== undefined && { paymentId }),
    status: statusOf(intent),
    total: { amount: intent.amount, currency: intent.currency.toUpperCase() },
    received: intent.amount_received,
    ...(failure !== undefined && { failure }),
    ...(intent.client_secret !== null && { clientSecret: intent.client_secret }),
    refunds: refunds.map(refundOf),
    ...(dispute !== undefined && {
      dispute: { reference: dispute.id, amount: dispute.amount, status: disputeStatus(dispute.status) },
    }),
    ...(saved && intent.status === 'succeeded' && { savedMethod: methodOf(method) }),
  }
}

export function failureOf(
  error: { readonly code?: string; readonly decline_code?: string; readonly message?: string } | null,
): GatewayFailure | undefined {
  if (error === null) return undefined
  const code = error.code === AUTHENTICATION_REQUIRED ? error.code : (error.decline_code ?? error.code ?? 'declined')
  return { code, message: error.message ?? 'The payment was declined.' }
}

export function refundOf(refund: Stripe.Refund): GatewayRefund {
  const refundId = refund.metadata?.[REFUND_ID]
  const { status } = refund
  const hasFailed = status === 'failed' || status === 'canceled'
  return {
    reference: refund.id,
    ...(refundId !== undefined && { refundId }),
    amount: refund.amount,
    status: hasFailed ? 'failed' : status === 'succeeded' ? 'succeeded' : 'pending',
  }
}

export function methodOf(method: Stripe.PaymentMethod): GatewayMethod {
  const { card, sepa_debit: account } = method
  return {
    reference: method.id,
    kind: method.type,
    brand: card?.brand ?? null,
    last4: card?.last4 ?? null,
    expiryMonth: card?.exp_month ?? null,
    expiryYear: card?.exp_year ?? null,
    fingerprint: card?.fingerprint ?? account?.fingerprint ?? null,
  }
}

export function setupOf(setup: Stripe.SetupIntent): GatewaySetup {
  const { customer, payment_method: method, status } = setup
  return {
    reference: setup.id,
    customer: typeof customer === 'string' ? customer : (customer?.id ?? null),
    status: status === 'succeeded' ? 'succeeded' : status === 'canceled' ? 'failed' : 'pending',
    clientSecret: setup.client_secret,
    ...(typeof method === 'object' && method !== null && { method: methodOf(method) }),
  }
}

function disputeStatus(status: Stripe.Dispute['status']): 'open' | 'won' | 'lost' {
  if (status === 'won' || status === 'warning_closed') return 'won'
  return status === 'lost' ? 'lost' : 'open'
}
