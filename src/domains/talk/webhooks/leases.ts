import { SECOND, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { webhooks, type WebhookRow } from './tables.ts'

/** Leases are extended while they are used. An attempt ends within 10 s. */
export const LEASE_MS = 20 * SECOND
const RENEW_MS = 5 * SECOND
/** A lease with more time left is not extended: storing progress has just extended it. */
const LEFT_MS = 12 * SECOND

/** Another node sends to this endpoint, or it was disabled, enabled again or deleted. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

// Written by hand: the condition on the lease has an `or`.
const CLAIM = `update webhooks set lease_holder = $2, lease_until = $4
  where id = any($1::uuid[]) and status = 'enabled'
    and (lease_holder is null or lease_holder = $2 or lease_until < $3)
  returning ${webhooks.selection()}`

// Written by hand: rows that a turn has locked are left for the next time, so that neither waits for the other.
const RENEW = `update webhooks set lease_until = $3 where id in (
    select id from webhooks where id = any($1::uuid[]) and lease_holder = $2 and lease_until < $4
    for no key update skip locked
  )`

// Written by hand: the cursor moves only if nobody else has moved it.
const RELEASE = `update webhooks set lease_holder = null, lease_until = null,
    cursor = case when cursor = $3 then $4 else cursor end
  where id = $1 and lease_holder = $2`

/** Lets one node at a time send to an endpoint. */
export class Leases {
  /** This node, until it ends. */
  readonly holder: string
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
    this.holder = uuidv7(clock.now())
  }

  /** @returns the endpoints that are enabled and that no other node has */
  claim(ids: readonly string[]): Promise<WebhookRow[]> {
    const now = this.#clock.now()
    return this.#sql.rows<WebhookRow>(CLAIM, [ids, this.holder, new Date(now), new Date(now + LEASE_MS)])
  }

  /** @param from the stored cursor @param cursor how far the log is done */
  async release(id: string, from: number, cursor: number): Promise<void> {
    await this.#sql.run(RELEASE, [id, this.holder, from, cursor])
  }

  /** Extends the leases of these endpoints that end soon, now and then. @returns a function that ends it */
  renewing(served: () => readonly string[], onError: (error: unknown) => void): () => void {
    const renew = async () => {
      const now = this.#clock.now()
      const ids = served()
      if (ids.length === 0) return
      await this.#sql.run(RENEW, [ids, this.holder, new Date(now + LEASE_MS), new Date(now + LEFT_MS)])
    }
    const timer = setInterval(() => void renew().catch(onError), RENEW_MS).unref()
    return () => clearInterval(timer)
  }

  /** The endpoint as it is stored now, while this node has it. */
  held(id: string): Promise<WebhookRow | undefined> {
    return webhooks.first(this.#sql, { id, leaseHolder: this.holder, status: 'enabled' })
  }

  find(id: string): Promise<WebhookRow | undefined> {
    return webhooks.first(this.#sql, { id })
  }
}
