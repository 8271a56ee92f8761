import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { HOUR, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { ClientKey, ClientKeys } from '../../../platforms/platform.ts'
import { platformKeys, socialCredentials } from './tables.ts'
import type { CredentialVault } from './vault.ts'

const generate = promisify(generateKeyPair)
/** A new key is published this long before it is used, because servers keep the keys that they have read for a while. */
const AHEAD_MS = HOUR
/** Longer than a sign-in may take. One that began with the old key ends with it. */
const OVERLAP_MS = HOUR

const newestKeys = query({ platformKeys }, (db) =>
  db
    .selectFrom('platformKeys')
    .select((e) => ['platform', e.fn.max('createdAt').as('newest')])
    .groupBy('platform'),
)

/** Keys of a platform without a newer key from before a time, and keys that a credential names. The newest first. */
const usedKeys = query({ platformKeys, socialCredentials }, (db, $: { platform: string; replacedBefore: string }) =>
  db
    .selectFrom('platformKeys as k')
    .select(['k.id', 'k.keyId', 'k.dataKeySealed', 'k.sealed', 'k.createdAt'])
    .where('k.platform', '=', $.platform)
    .where((e) => {
      const newer = e
        .selectFrom('platformKeys as n')
        .select('n.id')
        .whereRef('n.platform', '=', 'k.platform')
        .whereRef('n.id', '>', 'k.id')
        .where('n.createdAt', '<=', $.replacedBefore)
      const users = e.selectFrom('socialCredentials as c').select('c.accountId').whereRef('c.clientKeyId', '=', 'k.id')
      return e.or([e.not(e.exists(newer)), e.exists(users)])
    })
    .orderBy('k.id', 'desc'),
)

/**
 * The keys with which this server authenticates at platforms. Each platform has its own. A new key is published an hour
 * before new grants use it. A platform that binds a grant to a key ends the grant when the key is no longer published, so
 * a key stays as long as a credential names it.
 */
export class PlatformKeys {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #vault: CredentialVault

  constructor(sql: Sql, clock: Clock, vault: CredentialVault) {
    this.#sql = sql
    this.#clock = clock
    this.#vault = vault
  }

  of(platform: string): ClientKeys {
    return { list: () => this.#list(platform) }
  }

  /** Adds a key for new grants. */
  async rotate(platform: string): Promise<void> {
    const now = this.#clock.now()
    const { privateKey } = await generate('ec', { namedCurve: 'P-256' })
    const envelope = await this.#vault.sealValue('platform key', privateKey.export({ format: 'jwk' }))
    const row = { id: uuidv7(now), platform, ...envelope, createdAt: new Date(now) }
    await platformKeys.insert(this.#sql, row)
  }

  /** Adds a key for each platform whose newest one is older. */
  async rotateOlderThan(ms: number): Promise<void> {
    const before = this.#clock.now() - ms
    const rows = await newestKeys.rows(this.#sql, {})
    for (const { newest, platform } of rows) if (Date.parse(newest) < before) await this.rotate(platform)
  }

  async #list(platform: string): Promise<readonly ClientKey[]> {
    let rows = await this.#used(platform)
    if (rows.length === 0) {
      await this.rotate(platform)
      rows = await this.#used(platform)
    }
    const inUse = this.#clock.now() - AHEAD_MS
    const first = rows.find(({ createdAt }) => Date.parse(createdAt) <= inUse) ?? rows.at(-1)
    const ordered = [...rows.filter((row) => row === first), ...rows.filter((row) => row !== first)]
    return Promise.all(
      ordered.map(async (row) => ({
        id: row.id,
        jwk: await this.#vault.openValue<ClientKey['jwk']>('platform key', row),
      })),
    )
  }

  #used(platform: string) {
    const replacedBefore = new Date(this.#clock.now() - AHEAD_MS - OVERLAP_MS).toISOString()
    return usedKeys.rows(this.#sql, { platform, replacedBefore })
  }
}
