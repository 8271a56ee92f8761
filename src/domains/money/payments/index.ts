/** What other domains use of payments. */

export type { Charges } from './charges.ts'
export { takesPayments } from './compose.ts'
export type { PaymentRequest } from './intents.ts'
export { AmountTooSmall, BillingProfileNeeded, GatewayUnavailable, PaymentDeclined } from './errors.ts'
export type { PaymentMethods } from './methods.ts'
export type {
  Money,
  Purpose,
  PurposeInput,
  PurposeKind,
  PurposePayment,
  PurposeQuote,
  PurposeRefund,
  PurposeRequest,
} from './purposes.ts'
export type { PaymentStatusName } from './states.ts'
