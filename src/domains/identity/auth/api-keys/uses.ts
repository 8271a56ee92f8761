import { sql } from 'kysely'
import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { apiKeys } from '../tables.ts'

/** The use of a key is written at most this often. */
const EVERY_MS = MINUTE
const FLUSH_MS = 2 * SECOND
/** Keys whose last use is remembered. When there are more, all are forgotten and their next use is written again. */
const CAPACITY = 20_000

interface Use {
  readonly at: number
  readonly address: string
}

interface Written {
  readonly ids: readonly string[]
  readonly times: readonly Date[]
  readonly addresses: readonly string[]
}

/** One statement for all keys, which never moves a time back. */
const writeUses = query({ apiKeys }, (db, $: Written) =>
  db
    .updateTable('apiKeys as k')
    .from(
      sql<{ id: string; at: string; address: string }>`
        unnest(${$.ids}::uuid[], ${$.times}::timestamptz[], ${$.addresses}::text[])`.as<'used'>(
        sql`used (id, at, address)`,
      ),
    )
    .set((e) => ({ lastUsedAt: e.ref('used.at'), lastUsedAddress: e.ref('used.address') }))
    .whereRef('k.id', '=', 'used.id')
    .where((e) => e.or([e('k.lastUsedAt', 'is', null), e('k.lastUsedAt', '<', e.ref('used.at'))])),
)

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
      await writeUses.run(this.#sql, {
        ids: uses.map(([id]) => id),
        times: uses.map(([, { at }]) => new Date(at)),
        addresses: uses.map(([, { address }]) => address),
      })
    } catch (error) {
      // Not essential: the next use writes it again.
      this.#log.warn({ error }, 'could not write the last use of API keys')
      for (const [id] of uses) this.#noted.delete(id)
    }
  }
}
