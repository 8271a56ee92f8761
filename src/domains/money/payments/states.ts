import { States } from '../../../core/schema.ts'

/** The states of a payment, and what each means. */
export const PaymentStatus = States('PaymentStatus', 'How far a payment has come', {
  created: 'The payment is recorded. The gateway has not confirmed that it knows it',
  pending: 'The gateway waits for the payer, or for the network that carries the money',
  requires_action: 'The payer has to confirm the payment, for example with the bank (3-D Secure)',
  succeeded: 'The money has arrived, and what it pays for is granted',
  failed: 'The payment was declined, or never reached the gateway. Nothing was charged',
  cancelled: 'The payment was called off before it was paid',
  expired: 'The payment was not paid in time',
  refunded: 'The whole amount was paid back',
  disputed: 'The payer’s bank has taken the money back, or a reorganization has removed it from the chain',
})

export type PaymentStatusName =
  | 'created'
  | 'pending'
  | 'requires_action'
  | 'succeeded'
  | 'failed'
  | 'cancelled'
  | 'expired'
  | 'refunded'
  | 'disputed'

/**
 * Every change of status that is allowed. A payment that ended without money can still succeed: money can arrive late,
 * for example at the address of an expired invoice. It is then credited to the payer's wallet.
 */
export const TRANSITIONS: Readonly<Record<PaymentStatusName, readonly PaymentStatusName[]>> = {
  created: ['pending', 'requires_action', 'succeeded', 'failed', 'cancelled', 'expired'],
  pending: ['requires_action', 'succeeded', 'failed', 'cancelled', 'expired'],
  requires_action: ['pending', 'succeeded', 'failed', 'cancelled', 'expired'],
  succeeded: ['refunded', 'disputed'],
  failed: ['succeeded'],
  cancelled: ['succeeded'],
  expired: ['succeeded'],
  refunded: ['disputed'],
  disputed: ['succeeded', 'refunded'],
}

/** States in which a payment waits for its outcome. */
export const OPEN = ['created', 'pending', 'requires_action'] as const satisfies readonly PaymentStatusName[]

/** States that mean that no money was taken. */
export const UNPAID = ['failed', 'cancelled', 'expired'] as const satisfies readonly PaymentStatusName[]

export function isOpen(status: PaymentStatusName): boolean {
  return (OPEN as readonly string[]).includes(status)
}

export function mayBecome(from: PaymentStatusName, to: PaymentStatusName): boolean {
  return TRANSITIONS[from].includes(to)
}
