import { defineError } from '../../../core/error.ts'

export const GatewayUnavailable = defineError({
  code: 'gateway_unavailable',
  status: 503,
  message: 'The payment gateway does not respond at the moment.',
  cause: 'The gateway cannot be reached, or replies with a server error.',
  fix: 'Try again after Retry-After seconds. A payment that was begun is settled once the gateway responds again.',
})
export const GatewayNotConfigured = defineError({
  code: 'gateway_not_configured',
  status: 409,
  message: 'This server does not take payments in this way.',
  cause: 'The gateway is unknown, or the operator has not configured it.',
  fix: 'Choose one of the gateways that GET /api/payments/config lists.',
})
export const PurposeUnavailable = defineError({
  code: 'purpose_unavailable',
  status: 409,
  message: 'This server does not sell this.',
  cause: 'Nothing of this kind can be bought from this server.',
  fix: 'Choose another `purpose`.',
})
export const PaymentDeclined = defineError({
  code: 'payment_declined',
  status: 402,
  message: 'The payment was declined.',
  cause: 'The gateway or the bank has refused the payment. Nothing was charged. `details` has the reason.',
  fix: 'Use another payment method, or ask the bank.',
})
export const AmountTooSmall = defineError({
  code: 'amount_too_small',
  status: 409,
  message: 'The amount is smaller than the gateway takes.',
  cause: 'Each gateway has a smallest payment. `details` has the amount and the minimum, in minor units.',
  fix: 'Add money to the wallet and pay from it, or buy more at once.',
})
export const PaymentMethodNeeded = defineError({
  code: 'payment_method_needed',
  status: 409,
  message: 'The only payment method cannot be deleted while the subscription renews itself.',
  cause: 'Recurring billing is on, and its next charge needs a payment method.',
  fix: 'Add another payment method, or turn recurring billing off.',
})
export const WebhookInvalid = defineError({
  code: 'webhook_invalid',
  status: 400,
  message: 'The webhook is not genuine.',
  cause: 'Its signature is missing or wrong, or it was signed more than five minutes ago.',
  fix: 'Check the webhook secret in the settings of this server, and its clock.',
})
export const RefundRefused = defineError({
  code: 'refund_refused',
  status: 409,
  message: 'This payment cannot be refunded.',
  cause: 'It has not succeeded, less is left of it than the amount, or the gateway has refused the refund.',
  fix: 'Read the payment again. The message gives the reason.',
})

/** `details.missing` lists the fields, `details.path` how to set them, and `details.page` where people do. */
export const BillingProfileNeeded = defineError({
  code: 'billing_profile_needed',
  status: 409,
  message: 'Say who the invoice is for before you buy something.',
  cause:
    'The tax and the invoice depend on the country of the buyer, and the invoice of a business on its address. The billing profile lacks the fields that `details.missing` lists. Nothing was charged.',
  fix: 'Complete the profile with PUT /api/billing/profile, or at /billing, and repeat the request.',
})
