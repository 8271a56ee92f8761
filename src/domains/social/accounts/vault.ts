import { randomBytes } from 'node:crypto'
import { SealedBox } from '../../../core/sealed-box.ts'
import { HOUR, MINUTE, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'
import { not } from '../../../db/condition.ts'
import type { Credential } from '../../../platforms/platform.ts'
import { encryptionKeys, socialCredentials } from './tables.ts'

/** A credential as it is stored. */
export interface SealedCredential {
  readonly keyId: string
  readonly dataKeySealed: string
  readonly sealed: string
  /** The client key that the grant is bound to, which must be kept as long as the grant. */
  readonly clientKeyId: string | null
}

/** How many credentials one statement of a rotation reads. */
const ROTATION_BATCH = 200
/** How long a node uses a key before it looks for a newer one. */
const NEWEST_MS = MINUTE

/**
 * Envelope encryption. Each credential is encrypted with its own data key. The data key is encrypted with an
 * installation key, which is stored encrypted with the installation's secret. Rotating encrypts only the data keys
 * again.
 */
export class CredentialVault {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #secret: string
  /** Installation keys by id. Keys never change, so they are cached indefinitely. */
  readonly #keys = new Map<string, SealedBox>()
  #newest: { readonly id: string; readonly readAt: number } | undefined

  constructor(sql: Sql, clock: Clock, secret: string) {
    this.#sql = sql
    this.#clock = clock
    this.#secret = secret
  }

  async seal(credential: Credential): Promise<SealedCredential> {
    const keyId = await this.#newestKey()
    const dataKey = randomBytes(32).toString('base64url')
    return {
      keyId,
      dataKeySealed: (await this.#key(keyId)).seal(dataKey),
      sealed: boxOf(dataKey).seal(JSON.stringify(credential)),
      clientKeyId: credential.clientKeyId ?? null,
    }
  }

  /** @throws UnsealError when the installation's secret has changed */
  async open({ dataKeySealed, keyId, sealed }: Omit<SealedCredential, 'clientKeyId'>): Promise<Credential> {
    const dataKey = (await this.#key(keyId)).open(dataKeySealed)
    return JSON.parse(boxOf(dataKey).open(sealed)) as Credential
  }

  /**
   * Adds an installation key. New credentials use it at once, on other nodes within a minute.
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
   * Encrypts every data key with the newest installation key. Safe to repeat and to run while credentials are used.
   * @returns how many data keys were encrypted again
   */
  async reencrypt(): Promise<number> {
    const keyId = await this.#readNewest()
    const box = await this.#key(keyId)
    let count = 0
    while (true) {
      const rows = await socialCredentials.find(
        this.#sql,
        { keyId: not(keyId) },
        { columns: ['accountId', 'keyId', 'dataKeySealed'], limit: ROTATION_BATCH },
      )
      for (const row of rows) {
        const dataKey = (await this.#key(row.keyId)).open(row.dataKeySealed)
        const { accountId, dataKeySealed } = row
        // No row matches if the credential was replaced, because it then has a new data key.
        count += await socialCredentials.update(
          this.#sql,
          { accountId, dataKeySealed },
          { keyId, dataKeySealed: box.seal(dataKey) },
        )
      }
      if (rows.length < ROTATION_BATCH) return count
    }
  }

  /** Deletes keys that no credential uses. Another node may use a key until the next one is an hour old. */
  async prune(): Promise<number> {
    const before = new Date(this.#clock.now() - HOUR)
    const newest = await encryptionKeys.find(this.#sql, {}, { orderBy: ['id desc'], limit: 1 })
    if (newest[0] === undefined || Date.parse(newest[0].createdAt) > before.getTime()) return 0
    // One statement, so that a key that a credential starts to use in the meantime stays.
    return this.#sql.run(
      `delete from encryption_keys k where k.id <> $1
       and not exists (select 1 from social_credentials c where c.key_id = k.id)`,
      [newest[0].id],
    )
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
      box = boxOf(this.#installation().open(row.sealed))
      this.#keys.set(id, box)
    }
    return box
  }

  #installation(): SealedBox {
    return new SealedBox(this.#secret, 'installation keys')
  }
}

function boxOf(key: string): SealedBox {
  return new SealedBox(key, 'credential')
}
