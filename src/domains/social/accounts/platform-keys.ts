import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { HOUR, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { ClientKey, ClientKeys } from '../../../platforms/platform.ts'
import { platformKeys } from './tables.ts'
import type { CredentialVault, Envelope } from './vault.ts'

const generate = promisify(generateKeyPair)
/** A new key is published this long before it is used, because servers keep the keys that they have read for a while. */
const AHEAD_MS = HOUR
/** Longer than a sign-in may take. One that began with the old key ends with it. */
const OVERLAP_MS = HOUR

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
    const rows = await this.#sql.rows<{ platform: string; newest: string }>(
      `select k.platform, max(k.created_at)::text as newest from platform_keys k group by k.platform`,
      [],
    )
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

  #used(platform: string): Promise<(Envelope & { readonly id: string; readonly createdAt: string })[]> {
    const selection = platformKeys.selection('k', ['id', 'keyId', 'dataKeySealed', 'sealed', 'createdAt'])
    return this.#sql.rows(
      `select ${selection} from platform_keys k
       where k.platform = $1 and (
         not exists (select from platform_keys n where n.platform = k.platform and n.id > k.id and n.created_at <= $2)
         or exists (select from social_credentials c where c.client_key_id = k.id)
       ) order by k.id desc`,
      [platform, new Date(this.#clock.now() - AHEAD_MS - OVERLAP_MS)],
    )
  }
}
