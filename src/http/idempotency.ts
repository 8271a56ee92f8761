import { AppError } from '../core/error.ts'
import { BadRequest, IdempotencyMismatch, IdempotencyRunning } from '../core/errors.ts'
import { DAY, MINUTE, type Clock } from '../core/clock.ts'
import { sha256 } from '../core/id.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { Sql } from '../core/sql.ts'
import type { SealedBox } from '../core/sealed-box.ts'
import type { Turn } from '../core/turn.ts'
import { lessThan } from '../db/condition.ts'
import { isUniqueViolation } from '../db/prepared-sql.ts'
import { query } from '../db/query.ts'
import type { IdempotencyClaim } from '../turns/payload.ts'
import { idempotencyKeys } from './tables.ts'

const KEEP_MS = DAY

/** After this long a request that never came to its end (its node died) no longer blocks its key. */
const RUNNING_MS = MINUTE

/** The answer to repeat, or the claim under which the request may run. */
export type Claimed = { readonly replay: Reply } | { readonly claim: IdempotencyClaim; readonly release: () => void }

/** What identifies the file of a request, once it has been read; undefined when it never was, to the end. */
type Content = () => Promise<string | undefined>

/** A request with an idempotency key. */
export interface KeyedRequest {
  /** Whose key it is: the caller, or the address of an anonymous one. */
  readonly principal: string
  readonly operation: string
  readonly key: string
  /** Everything in the request that must be the same in a repetition, but its file. */
  readonly request: string
  /** The request will run as a turn, which writes its own reply. */
  readonly isTurn: boolean
  /** Where the request comes with a file. While it runs the key stands for the request without it. */
  readonly content?: Content | undefined
}

/** Takes a key that is free or has expired. */
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
 * Idempotency keys (the IETF httpapi draft and Stripe's practice): the first answer of a caller and operation is kept
 * for 24 hours and repeated. Kept replies are sealed, because some carry a secret that is shown once. A turn writes
 * its reply in its own transaction (see TurnExecutor), so that the effect and the kept answer exist together or not
 * at all. Everything else takes the key in the database before it runs, so that no other node runs it too.
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
    // Before the database is asked: an answer that is kept while we ask would be missed.
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
   * Keeps the answer of a request that was no turn. One whose content the handler did not read to the end is not kept:
   * nobody could tell whether a later request repeats it.
   */
  async keep(operation: string, claim: IdempotencyClaim, reply: Reply, content?: Content): Promise<void> {
    const fingerprint = content === undefined ? claim.fingerprint : await withContent(claim.fingerprint, content)
    if (reply.body instanceof RawBody || fingerprint === undefined) {
      await this.giveUp(operation, claim)
      return
    }
    await idempotencyKeys.update(this.#sql, keyOf(operation, claim), { ...this.#kept(claim, reply), fingerprint })
  }

  /** Keeps the reply of a turn, in the turn's own transaction: the effect and the reply exist together or not at all. */
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

  /** Frees the key of a request that was no turn and failed. */
  async giveUp(operation: string, claim: IdempotencyClaim): Promise<void> {
    await idempotencyKeys.delete(this.#sql, { ...keyOf(operation, claim), reply: null })
  }

  /** A second node ran the same key first: its answer, when that is why a turn failed. */
  async afterConflict(operation: string, claim: IdempotencyClaim, error: unknown): Promise<Reply | undefined> {
    if (error instanceof AppError || !isUniqueViolation(error, 'idempotency_keys_pkey')) return undefined
    return this.#find(operation, claim)
  }

  /** Deletes what is older than a day. */
  async sweep(): Promise<number> {
    return idempotencyKeys.delete(this.#sql, { expiresAt: lessThan(new Date(this.#clock.now())) })
  }

  #kept({ keepMs }: IdempotencyClaim, reply: Reply) {
    const expiresAt = new Date(this.#clock.now() + keepMs)
    return { status: reply.status, reply: this.#box.seal(JSON.stringify(reply)), expiresAt }
  }

  /** @returns whether the key was free and is now ours */
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

  /** What is kept for a key; undefined when it is free. Reads the content only where there is a reply to repeat. */
  async #find(operation: string, claim: IdempotencyClaim, content?: Content): Promise<Reply | undefined> {
    const where = keyOf(operation, claim)
    const row = await idempotencyKeys.first(this.#sql, where, { columns: ['fingerprint', 'reply', 'expiresAt'] })
    if (row === undefined) return undefined
    const { expiresAt } = row
    if (Date.parse(expiresAt) <= this.#clock.now()) {
      // Not a row that another request has taken since.
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
