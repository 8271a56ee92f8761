import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'

/** The use of a key is written at most this often. */
const EVERY_MS = MINUTE
const FLUSH_MS = 2 * SECOND
/** Keys whose last use is remembered. When there are more, all are forgotten and their next use is written again. */
const CAPACITY = 20_000

interface Use {
  readonly at: number
  readonly address: string
}

/** Records when and from where API keys were last used: in memory, and every two seconds in one statement. */
export class ApiKeyUses {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #log: Logger
  readonly #noted = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #waiting = new Map<string, Use>()

  constructor(sql: Sql, clock: Clock, log: Logger) {
    this.#sql = sql
    this.#clock = clock
    this.#log = log
    this.#timer = setInterval(() => void this.#flush(), FLUSH_MS).unref()
  }

  /** @param address called only when the use is recorded */
  note(keyId: string, address: () => string): void {
    const at = this.#clock.now()
    if (at - (this.#noted.get(keyId) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return
    if (this.#noted.size >= CAPACITY) this.#noted.clear()
    this.#noted.set(keyId, at)
    this.#waiting.set(keyId, { at, address: address() })
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#flush()
  }

  async #flush(): Promise<void> {
    if (this.#waiting.size === 0) return
    const uses = [...this.#waiting]
    this.#waiting = new Map()
    try {
      // Raw SQL: one statement for all keys, which never moves a time back.
      await this.#sql.run(
        `update api_keys k set last_used_at = used.at, last_used_address = used.address
         from unnest($1::uuid[], $2::timestamptz[], $3::text[]) as used (id, at, address)
         where k.id = used.id and (k.last_used_at is null or k.last_used_at < used.at)`,
        [uses.map(([id]) => id), uses.map(([, { at }]) => new Date(at)), uses.map(([, { address }]) => address)],
      )
    } catch (error) {
      // Not essential: the next use writes it again.
      this.#log.warn({ error }, 'could not write the last use of API keys')
      for (const [id] of uses) this.#noted.delete(id)
    }
  }
}
