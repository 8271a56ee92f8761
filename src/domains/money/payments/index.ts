/** What other domains use of payments. */

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
