import { DAY, type Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { Database } from '../../../db/database.ts'
import type { GatewayEvents } from './gateway-events.ts'
import type { Gateways } from './gateways/directory.ts'
import { GatewayAway, type Gateway, type GatewayPayment } from './gateways/gateway.ts'
import { knownOf } from './known.ts'
import type { Settlement } from './settlement.ts'
import { payments } from './tables.ts'

interface Dependencies {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly gateways: Gateways
  readonly settlement: Settlement
  readonly events: GatewayEvents
}

/** Longer than payers have to complete a payment, and longer than gateways repeat webhooks. */
const PERIOD_MS = 4 * DAY

/** Compares what gateways have taken with what is known here. Settles what was missed, and reports it. */
export class Reconciliation {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @returns how many differences it has found */
  async run(signal?: AbortSignal): Promise<number> {
    const { clock, gateways, log } = this.#dependencies
    const until = clock.now()
    let found = 0
    for (const gateway of gateways.all()) {
      try {
        for await (const seen of gateway.list({ since: until - PERIOD_MS, until: until + DAY })) {
          if (signal?.aborted) return found
          if (await this.#compare(gateway, seen)) found += 1
        }
      } catch (error) {
        if (!(error instanceof GatewayAway)) throw error
        log.warn({ error, gateway: gateway.key }, 'a payment gateway could not be reconciled')
      }
    }
    return found
  }

  async #compare(gateway: Gateway, seen: GatewayPayment): Promise<boolean> {
    const { database, events, log, settlement } = this.#dependencies
    if (seen.status !== 'succeeded') return false
    const { key } = gateway
    const { paymentId, reference } = seen
    const byReference = await payments.first(database, { gateway: key, gatewayReference: reference })
    const row = byReference ?? (paymentId && (await payments.first(database, { id: paymentId, gateway: key })))
    // Without our id, another program of the same account has made it.
    if (!row && paymentId === undefined) return false
    const current = row && gateway.listsHints === true ? await gateway.retrieve(reference, knownOf(row)) : seen
    const settled = row && current && (await settlement.settle(row.id, current, { by: 'reconciliation' }))
    if (settled && !settled.hasChanged && settled.contradiction === undefined) return false
    const verdict = !settled
      ? { outcome: 'unknown' as const, note: `The gateway has taken money for a payment ${paymentId}.` }
      : settled.contradiction === undefined
        ? { outcome: 'missed' as const, note: 'The gateway has taken money that was not noticed. It is settled now.' }
        : { outcome: 'contradicting' as const, note: settled.contradiction }
    const eventId = `reconciliation:${reference}:${verdict.outcome}`
    const { clientSecret: _secret, ...payload } = seen
    const isNew = await events.report(key, { eventId, ...verdict, ...(row && { paymentId: row.id }) }, payload)
    if (isNew) log.error({ gateway: key, reference, paymentId, outcome: verdict.outcome }, 'a payment was missed')
    return isNew
  }
}
