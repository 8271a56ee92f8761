import { AppError } from '../core/error.ts'
import { BadRequest, IdempotencyMismatch, IdempotencyRunning } from '../core/errors.ts'
import { DAY, type Clock } from '../core/clock.ts'
import { sha256 } from '../core/id.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { Sql } from '../core/sql.ts'
import type { SealedBox } from '../core/sealed-box.ts'
import { isUniqueViolation } from '../db/prepared-sql.ts'
import type { IdempotencyClaim } from '../turns/payload.ts'

const KEEP_MS = DAY

/** The answer to repeat, or the claim under which the request may run. */
export type Claimed = { readonly replay: Reply } | { readonly claim: IdempotencyClaim; readonly release: () => void }

/**
 * Idempotency keys (the IETF httpapi draft and Stripe's practice): the first answer of a caller and operation is kept
 * for 24 hours and repeated. Kept replies are sealed, because some carry a secret that is shown once. A turn writes
 * its reply in its own transaction (see TurnExecutor), so that the effect and the kept answer exist together or not
 * at all.
 */
export class IdempotencyKeys {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #box: SealedBox
  readonly #running = new Set<string>()

  constructor(sql: Sql, clock: Clock, box: SealedBox) {
    this.#sql = sql
    this.#clock = clock
    this.#box = box
  }

  /**
   * @param principal whose key it is: the caller, or the address of an anonymous one
   * @throws AppError bad_request, idempotency_key_in_use, idempotency_key_reused
   */
  async claim(principal: string, operation: string, key: string, request: string): Promise<Claimed> {
    if (key.length > 255 || !/^[\x21-\x7e]+$/.test(key)) {
      throw BadRequest({ message: 'Idempotency-Key must be 1 to 255 visible ASCII characters.' })
    }
    const fingerprint = sha256(request)
    const name = `${principal} ${operation} ${key}`
    const kept = await this.#find(principal, operation, key, fingerprint)
    if (kept) return { replay: kept }
    if (this.#running.has(name)) throw IdempotencyRunning({ retryAfter: 1 })
    this.#running.add(name)
    return { claim: { principal, key, fingerprint, keepMs: KEEP_MS }, release: () => this.#running.delete(name) }
  }

  /** Keeps the answer of a request that was no turn. */
  async keep(operation: string, claim: IdempotencyClaim, reply: Reply): Promise<void> {
    if (reply.body instanceof RawBody) return
    const now = this.#clock.now()
    await this.#sql.run(
      `insert into idempotency_keys (principal, operation, key, fingerprint, status, reply, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
      [
        claim.principal,
        operation,
        claim.key,
        claim.fingerprint,
        reply.status,
        this.#box.seal(JSON.stringify(reply)),
        new Date(now),
        new Date(now + claim.keepMs),
      ],
    )
  }

  /** A second node ran the same key first: its answer, when that is why a turn failed. */
  async afterConflict(operation: string, claim: IdempotencyClaim, error: unknown): Promise<Reply | undefined> {
    if (error instanceof AppError || !isUniqueViolation(error, 'idempotency_keys_pkey')) return undefined
    return this.#find(claim.principal, operation, claim.key, claim.fingerprint)
  }

  /** Deletes what is older than a day. */
  async sweep(): Promise<number> {
    return this.#sql.run('delete from idempotency_keys where expires_at < $1', [new Date(this.#clock.now())])
  }

  async #find(principal: string, operation: string, key: string, fingerprint: string): Promise<Reply | undefined> {
    const row = await this.#sql.row<{ fingerprint: string; reply: string }>(
      `select fingerprint, reply from idempotency_keys
       where principal = $1 and operation = $2 and key = $3 and expires_at > $4`,
      [principal, operation, key, new Date(this.#clock.now())],
    )
    if (row === undefined) return undefined
    if (row.fingerprint !== fingerprint) throw IdempotencyMismatch()
    return JSON.parse(this.#box.open(row.reply)) as Reply
  }
}
