import { HOUR, MINUTE } from '../../../core/clock.ts'
import type { KnownPayment } from './gateways/gateway.ts'
import { isOpen } from './states.ts'
import type { PaymentRow } from './tables.ts'

/** What a gateway needs to know of a payment in order to find it. */
export function knownOf(row: PaymentRow): KnownPayment {
  const { amount, currency, expiresAt, gatewayData, id, receivedAmount, status } = row
  return {
    id,
    total: { amount, currency },
    data: gatewayData,
    received: receivedAmount,
    isOpen: isOpen(status),
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
  }
}

/** How long a request for a payment can take before the sweeper looks after it. */
export const FIRST_CHECK_MS = 2 * MINUTE

/** Whether the gateway is asked about a payment: it is open, or something can still happen that no webhook tells of. */
export function isWatched({ gatewayData, status }: Pick<PaymentRow, 'gatewayData' | 'status'>, now: number): boolean {
  return isOpen(status) || watchUntil(gatewayData) > now
}

/** When the sweeper looks at a payment that has ended now. Null when nothing more can happen. */
export function checkAfterEnd({ gatewayData }: Pick<PaymentRow, 'gatewayData'>, now: number): Date | null {
  return watchUntil(gatewayData) > now ? new Date(now + HOUR) : null
}

function watchUntil({ watchUntil: at }: PaymentRow['gatewayData']): number {
  return typeof at === 'number' ? at : 0
}
