import { AppError } from '../core/error.ts'
import { BadRequest, IdempotencyMismatch, IdempotencyRunning } from '../core/errors.ts'
import { DAY, MINUTE, type Clock } from '../core/clock.ts'
import { sha256 } from '../tools/id.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { Sql } from '../core/sql.ts'
import type { SealedBox } from '../tools/sealed-box.ts'
import type { Turn } from '../core/turn.ts'
import { lessThan } from '../db/condition.ts'
import { deleteInBatches } from '../db/delete-in-batches.ts'
import { isUniqueViolation } from '../db/prepared-sql.ts'
import { query } from '../db/query.ts'
import type { IdempotencyClaim } from '../turns/payload.ts'
import { idempotencyKeys } from './tables.ts'

const KEEP_MS = DAY

/** A request that never finished because its node died blocks its key for this long. */
const RUNNING_MS = MINUTE

/** The stored reply to repeat, or the claim under which the request may run. */
export type Claimed = { readonly replay: Reply } | { readonly claim: IdempotencyClaim; readonly release: () => void }

/** The digest of the request's file; undefined if the file was not read to its end. */
type Content = () => Promise<string | undefined>

/** A request with an idempotency key. */
export interface KeyedRequest {
  /** The owner of the key: the caller, or an anonymous caller's address. */
  readonly principal: string
  readonly operation: string
  readonly key: string
  /** Everything except the file that must be equal when the request is repeated. */
  readonly request: string
  /** The request runs as a turn, which stores its reply itself. */
  readonly isTurn: boolean
  /** Set if the request has a file. While the request runs, the fingerprint does not include the file. */
  readonly content?: Content | undefined
}

/** Claims a key that is free or has expired. */
const takeKey = query(
  { idempotencyKeys },
  (db, $: KeyOfRow & { fingerprint: string; now: string; expiresAt: string }) => {
    const taken = { fingerprint: $.fingerprint, createdAt: $.now, expiresAt: $.expiresAt }
    return db
      .insertInto('idempotencyKeys')
      .values({ principal: $.principal, operation: $.operation, key: $.key, ...taken })
      .onConflict((conflict) =>
        conflict
          .columns(['principal', 'operation', 'key'])
          .doUpdateSet({ ...taken, status: null, reply: null })
          .where('idempotencyKeys.expiresAt', '<=', $.now),
      )
  },
)

interface KeyOfRow {
  readonly principal: string
  readonly operation: string
  readonly key: string
}

/**
 * Idempotency keys (the IETF httpapi draft and Stripe's practice): the first reply for a caller, an operation and a key
 * is stored for 24 hours and repeated. Stored replies are encrypted, because some contain a secret that is shown only
 * once. A turn stores its reply in its own transaction (`keepWithTurn`). All other requests claim the key in the
 * database before they run, so that no other node runs them too.
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

  /** @throws AppError bad_request, idempotency_key_in_use, idempotency_key_reused */
  async claim({ content, isTurn, key, operation, principal, request }: KeyedRequest): Promise<Claimed> {
    if (key.length > 255 || !/^[\x21-\x7e]+$/.test(key)) {
      throw BadRequest({ message: 'Idempotency-Key must be 1 to 255 visible ASCII characters.' })
    }
    const name = `${principal} ${operation} ${key}`
    // Before the query, because a reply that is stored while the query runs would be missed.
    if (this.#running.has(name)) throw IdempotencyRunning({ retryAfter: 1 })
    this.#running.add(name)
    const release = () => void this.#running.delete(name)
    try {
      const claim = { principal, key, fingerprint: sha256(request), keepMs: KEEP_MS }
      if (!isTurn && (await this.#take(operation, claim))) return { claim, release }
      const replay = await this.#find(operation, claim, content)
      if (replay === undefined) return { claim, release }
      release()
      return { replay }
    } catch (error) {
      release()
      throw error
    }
  }

  /**
   * Stores the reply of a request that was not a turn. The reply is not stored if the handler did not read the file to
   * its end, because a repeated request could not be compared with it.
   */
  async keep(operation: string, claim: IdempotencyClaim, reply: Reply, content?: Content): Promise<void> {
    const fingerprint = content === undefined ? claim.fingerprint : await withContent(claim.fingerprint, content)
    if (reply.body instanceof RawBody || fingerprint === undefined) {
      await this.giveUp(operation, claim)
      return
    }
    await idempotencyKeys.update(this.#sql, keyOf(operation, claim), { ...this.#kept(claim, reply), fingerprint })
  }

  /**
   * Stores the reply of a turn in the turn's own transaction: the effect and the reply commit together or not at all.
   */
  keepWithTurn(turn: Turn, operation: string, claim: IdempotencyClaim, reply: Reply): void {
    if (reply.body instanceof RawBody) return
    const { fingerprint } = claim
    const createdAt = new Date(this.#clock.now())
    turn.insert(idempotencyKeys, {
      ...keyOf(operation, claim),
      ...this.#kept(claim, reply),
      fingerprint,
      createdAt,
    })
  }

  /** Frees the key of a failed request that was not a turn. */
  async giveUp(operation: string, claim: IdempotencyClaim): Promise<void> {
    await idempotencyKeys.delete(this.#sql, { ...keyOf(operation, claim), reply: null })
  }

  /** The reply of another node that ran the same key first, if that is why a turn failed. */
  async afterConflict(operation: string, claim: IdempotencyClaim, error: unknown): Promise<Reply | undefined> {
    if (error instanceof AppError || !isUniqueViolation(error, 'idempotency_keys_pkey')) return undefined
    return this.#find(operation, claim)
  }

  /** Deletes expired keys. */
  async sweep(): Promise<number> {
    return deleteInBatches(idempotencyKeys, this.#sql, { expiresAt: lessThan(new Date(this.#clock.now())) })
  }

  #kept({ keepMs }: IdempotencyClaim, reply: Reply) {
    const expiresAt = new Date(this.#clock.now() + keepMs)
    return { status: reply.status, reply: this.#box.seal(JSON.stringify(reply)), expiresAt }
  }

  /** @returns whether the key was free and is now claimed */
  async #take(operation: string, claim: IdempotencyClaim): Promise<boolean> {
    const now = this.#clock.now()
    const taken = await takeKey.run(this.#sql, {
      ...keyOf(operation, claim),
      fingerprint: claim.fingerprint,
      now: new Date(now).toISOString(),
      expiresAt: new Date(now + RUNNING_MS).toISOString(),
    })
    return taken === 1
  }

  /** The stored reply of a key; undefined if the key is free. Reads the file only if there is a reply to repeat. */
  async #find(operation: string, claim: IdempotencyClaim, content?: Content): Promise<Reply | undefined> {
    const where = keyOf(operation, claim)
    const row = await idempotencyKeys.first(this.#sql, where, { columns: ['fingerprint', 'reply', 'expiresAt'] })
    if (row === undefined) return undefined
    const { expiresAt } = row
    if (Date.parse(expiresAt) <= this.#clock.now()) {
      // Does not match a row that another request has claimed since.
      await idempotencyKeys.delete(this.#sql, { ...where, expiresAt })
      return undefined
    }
    const fingerprint =
      row.reply === null || content === undefined ? claim.fingerprint : await withContent(claim.fingerprint, content)
    if (row.fingerprint !== fingerprint) throw IdempotencyMismatch()
    if (row.reply === null) throw IdempotencyRunning({ retryAfter: 1 })
    return JSON.parse(this.#box.open(row.reply)) as Reply
  }
}

function keyOf(operation: string, { key, principal }: IdempotencyClaim): KeyOfRow {
  return { principal, operation, key }
}

async function withContent(fingerprint: string, content: Content): Promise<string | undefined> {
  const digest = await content()
  return digest === undefined ? undefined : sha256(`${fingerprint}\n${digest}`)
}
