import { sql as raw } from 'kysely'
import { SECOND, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
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

interface Lease {
  readonly ids: readonly string[]
  readonly holder: string
  readonly until: string
}

const claim = query({ webhooks }, (db, $: Lease & { now: string }) =>
  db
    .updateTable('webhooks')
    .set({ leaseHolder: $.holder, leaseUntil: $.until })
    .where('id', '=', raw<string>`any(${$.ids})`)
    .where('status', '=', 'enabled')
    .where((e) => e.or([e('leaseHolder', 'is', null), e('leaseHolder', '=', $.holder), e('leaseUntil', '<', $.now)]))
    .returning(webhooks.properties),
)

/** Rows that a turn has locked are left for the next time, so that neither waits for the other. */
const renew = query({ webhooks }, (db, $: Lease & { endingBefore: string }) =>
  db
    .updateTable('webhooks')
    .set({ leaseUntil: $.until })
    .where('id', 'in', (e) =>
      e
        .selectFrom('webhooks')
        .select('id')
        .where('id', '=', raw<string>`any(${$.ids})`)
        .where('leaseHolder', '=', $.holder)
        .where('leaseUntil', '<', $.endingBefore)
        .forNoKeyUpdate()
        .skipLocked(),
    ),
)

/** The cursor moves only if nobody else has moved it. */
const release = query({ webhooks }, (db, $: { id: string; holder: string; from: number; cursor: number }) =>
  db
    .updateTable('webhooks')
    .set((e) => ({
      leaseHolder: null,
      leaseUntil: null,
      cursor: e.case().when('cursor', '=', $.from).then($.cursor).else(e.ref('cursor')).end(),
    }))
    .where('id', '=', $.id)
    .where('leaseHolder', '=', $.holder),
)

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
    return claim.rows(this.#sql, { ids, holder: this.holder, now: at(now), until: at(now + LEASE_MS) })
  }

  /** @param from the stored cursor @param cursor how far the log is done */
  async release(id: string, from: number, cursor: number): Promise<void> {
    await release.run(this.#sql, { id, holder: this.holder, from, cursor })
  }

  /** Extends the leases of these endpoints that end soon, now and then. @returns a function that ends it */
  renewing(served: () => readonly string[], onError: (error: unknown) => void): () => void {
    const renewAll = async () => {
      const now = this.#clock.now()
      const ids = served()
      if (ids.length === 0) return
      const lease = { ids, holder: this.holder, until: at(now + LEASE_MS) }
      await renew.run(this.#sql, { ...lease, endingBefore: at(now + LEFT_MS) })
    }
    const timer = setInterval(() => void renewAll().catch(onError), RENEW_MS).unref()
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

function at(ms: number): string {
  return new Date(ms).toISOString()
}
