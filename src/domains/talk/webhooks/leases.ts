import { SECOND, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { webhooks, type WebhookRow } from './tables.ts'

/** Longer than a page of attempts can take: an attempt begins within 5 s and ends within 10 s. */
export const LEASE_MS = 30 * SECOND

/** Another job sends to this endpoint, or it was disabled or deleted. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

// Written by hand: the condition on the lease has an `or`.
const CLAIM = `update webhooks set lease_holder = $2, lease_until = $4
  where id = $1 and status = 'enabled'
    and (lease_holder is null or lease_holder = $2 or lease_until < $3)
  returning ${webhooks.selection()}`

/** Lets one job at a time send to an endpoint. */
export class Leases {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** @returns the endpoint, or undefined if it is disabled or another job has it */
  claim(id: string, holder: string): Promise<WebhookRow | undefined> {
    const now = this.#clock.now()
    return this.#sql.row<WebhookRow>(CLAIM, [id, holder, new Date(now), new Date(now + LEASE_MS)])
  }

  async release(id: string, holder: string): Promise<void> {
    await webhooks.update(this.#sql, { id, leaseHolder: holder }, { leaseHolder: null, leaseUntil: null })
  }

  find(id: string): Promise<WebhookRow | undefined> {
    return webhooks.first(this.#sql, { id })
  }
}
