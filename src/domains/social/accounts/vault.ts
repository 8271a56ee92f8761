import { randomBytes } from 'node:crypto'
import { SealedBox } from '../../../tools/sealed-box.ts'
import { HOUR, MINUTE, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Credential } from '../../../platforms/platform.ts'
import { encryptionKeys } from './tables.ts'

/** A value as it is stored: encrypted with its own data key, which an installation key encrypts. */
export interface Envelope {
  readonly keyId: string
  readonly dataKeySealed: string
  readonly sealed: string
}

/** A credential as it is stored. */
export interface SealedCredential extends Envelope {
  /** The client key that the grant is bound to, which must be kept as long as the grant. */
  readonly clientKeyId: string | null
}

/** A table with envelopes, and the columns that identify a row. */
export interface EnvelopeTable {
  readonly table: string
  readonly id: readonly string[]
}

/** The tables of this domain. Other domains register theirs. A test compares all with the schema. */
const ENVELOPES: readonly EnvelopeTable[] = [
  { table: 'social_credentials', id: ['account_id'] },
  { table: 'platform_keys', id: ['id'] },
  { table: 'platform_apps', id: ['platform', 'server', 'redirect_uri'] },
]

/** What a value is, so that one kind cannot be opened as another. */
type Purpose = 'credential' | 'platform key' | 'platform app' | 'ai key'

/** How many rows one statement of a rotation reads. */
const BATCH = 200
/** How long a node uses a key before it looks for a newer one. */
const NEWEST_MS = MINUTE

/**
 * Envelope encryption. Each value is encrypted with its own data key. The data key is encrypted with an
 * installation key, which is stored encrypted with the installation's secret. Rotating encrypts only the data keys
 * again.
 */
export class CredentialVault {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #secret: string
  /** Installation keys by id. Keys never change, so they are cached indefinitely. */
  readonly #keys = new Map<string, SealedBox>()
  readonly #tables = [...ENVELOPES]
  #newest: { readonly id: string; readonly readAt: number } | undefined

  constructor(sql: Sql, clock: Clock, secret: string) {
    this.#sql = sql
    this.#clock = clock
    this.#secret = secret
  }

  /** Adds a table of another domain. A rotation also encrypts its data keys again. */
  register(table: EnvelopeTable): void {
    this.#tables.push(table)
  }

  async seal(credential: Credential): Promise<SealedCredential> {
    return { ...(await this.sealValue('credential', credential)), clientKeyId: credential.clientKeyId ?? null }
  }

  /** @throws UnsealError when the installation's secret has changed */
  open(envelope: Envelope): Promise<Credential> {
    return this.openValue('credential', envelope)
  }

  /** @param value plain JSON */
  async sealValue(purpose: Purpose, value: object): Promise<Envelope> {
    const keyId = await this.#newestKey()
    const dataKey = randomBytes(32).toString('base64url')
    return {
      keyId,
      dataKeySealed: (await this.#key(keyId)).seal(dataKey),
      sealed: new SealedBox(dataKey, purpose).seal(JSON.stringify(value)),
    }
  }

  /** @throws UnsealError when the installation's secret has changed */
  async openValue<T>(purpose: Purpose, { dataKeySealed, keyId, sealed }: Envelope): Promise<T> {
    const dataKey = (await this.#key(keyId)).open(dataKeySealed)
    return JSON.parse(new SealedBox(dataKey, purpose).open(sealed)) as T
  }

  /**
   * Adds an installation key. New values use it at once, on other nodes within a minute.
   * @returns its id
   */
  async addKey(): Promise<string> {
    const now = this.#clock.now()
    const id = uuidv7(now)
    const sealed = this.#installation().seal(randomBytes(32).toString('base64url'))
    await encryptionKeys.insert(this.#sql, { id, sealed, createdAt: new Date(now) })
    this.#newest = { id, readAt: now }
    return id
  }

  /**
   * Encrypts every data key with the newest installation key. Safe to repeat and to run while the values are used.
   * @returns how many data keys were encrypted again
   */
  async reencrypt(): Promise<number> {
    const keyId = await this.#readNewest()
    let count = 0
    for (const envelopes of this.#tables) count += await this.#reencryptTable(envelopes, keyId)
    return count
  }

  async #reencryptTable({ id, table }: EnvelopeTable, keyId: string): Promise<number> {
    const box = await this.#key(keyId)
    // Written by hand: the tables are registered as values, so no statement can be typed.
    const read = `select key_id, data_key_sealed, ${id.join(', ')} from ${table} where key_id <> $1 limit ${BATCH}`
    const isRow = id.map((column, index) => `${column} = $${index + 4}`).join(' and ')
    let count = 0
    while (true) {
      const rows = await this.#sql.rows<Record<string, string>>(read, [keyId])
      for (const row of rows) {
        const old = row['data_key_sealed'] ?? ''
        const dataKey = (await this.#key(row['key_id'] ?? '')).open(old)
        // No row matches if the value was replaced, because it then has a new data key.
        count += await this.#sql.run(
          `update ${table} set key_id = $1, data_key_sealed = $2 where data_key_sealed = $3 and ${isRow}`,
          [keyId, box.seal(dataKey), old, ...id.map((column) => row[column] ?? '')],
        )
      }
      if (rows.length < BATCH) return count
    }
  }

  /** Deletes keys that no value uses. Another node may use a key until the next one is an hour old. */
  async prune(): Promise<number> {
    const before = new Date(this.#clock.now() - HOUR)
    const newest = await encryptionKeys.find(this.#sql, {}, { orderBy: ['id desc'], limit: 1 })
    if (newest[0] === undefined || Date.parse(newest[0].createdAt) > before.getTime()) return 0
    const unused = this.#tables.map(({ table }) => `not exists (select 1 from ${table} e where e.key_id = k.id)`)
    // Written by hand, like above. One statement, so that a key that a value starts to use in the meantime stays.
    return this.#sql.run(`delete from encryption_keys k where k.id <> $1 and ${unused.join(' and ')}`, [newest[0].id])
  }

  async #newestKey(): Promise<string> {
    const now = this.#clock.now()
    if (this.#newest === undefined || now - this.#newest.readAt > NEWEST_MS) {
      this.#newest = { id: await this.#readNewest(), readAt: now }
    }
    return this.#newest.id
  }

  async #readNewest(): Promise<string> {
    const [newest] = await encryptionKeys.find(this.#sql, {}, { columns: ['id'], orderBy: ['id desc'], limit: 1 })
    return newest?.id ?? this.addKey()
  }

  async #key(id: string): Promise<SealedBox> {
    let box = this.#keys.get(id)
    if (box === undefined) {
      const row = await encryptionKeys.first(this.#sql, { id })
      if (row === undefined) throw new Error(`the encryption key ${id} is missing`)
      box = new SealedBox(this.#installation().open(row.sealed), 'data key')
      this.#keys.set(id, box)
    }
    return box
  }

  #installation(): SealedBox {
    return new SealedBox(this.#secret, 'installation keys')
  }
}
