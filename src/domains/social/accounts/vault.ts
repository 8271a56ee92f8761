import { randomBytes } from 'node:crypto'
import { SealedBox } from '../../../core/sealed-box.ts'
import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Credential } from '../../../platforms/platform.ts'
import { encryptionKeys, socialCredentials } from './tables.ts'

/** A credential as it is stored. */
export interface SealedCredential {
  readonly keyId: string
  readonly dataKeySealed: string
  readonly sealed: string
}

/** How many credentials one statement of a rotation reads. */
const ROTATION_BATCH = 200

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
  #newest: string | undefined

  constructor(sql: Sql, clock: Clock, secret: string) {
    this.#sql = sql
    this.#clock = clock
    this.#secret = secret
  }

  async seal(credential: Credential): Promise<SealedCredential> {
    const keyId = (this.#newest ??= await this.#newestKey())
    const dataKey = randomBytes(32).toString('base64url')
    return {
      keyId,
      dataKeySealed: (await this.#key(keyId)).seal(dataKey),
      sealed: boxOf(dataKey).seal(JSON.stringify(credential)),
    }
  }

  /** @throws UnsealError when the installation's secret has changed */
  async open({ dataKeySealed, keyId, sealed }: SealedCredential): Promise<Credential> {
    const dataKey = (await this.#key(keyId)).open(dataKeySealed)
    return JSON.parse(boxOf(dataKey).open(sealed)) as Credential
  }

  /**
   * Adds an installation key and encrypts every data key with it. Safe to repeat and to run while credentials are used.
   * Old keys stay, because a node may have just sealed with one. The next rotation covers those credentials.
   * @returns how many data keys were encrypted again
   */
  async rotate(): Promise<number> {
    const keyId = await this.#addKey()
    const box = await this.#key(keyId)
    let count = 0
    let after = '00000000-0000-0000-0000-000000000000'
    while (true) {
      const rows = await this.#sql.rows<{ accountId: string; keyId: string; dataKeySealed: string }>(
        `select ${socialCredentials.selection('c', ['accountId', 'keyId', 'dataKeySealed'])} from social_credentials c
         where account_id > $1 order by account_id limit ${ROTATION_BATCH}`,
        [after],
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
      const last = rows.at(-1)
      if (last === undefined) return count
      after = last.accountId
    }
  }

  async #newestKey(): Promise<string> {
    const [newest] = await encryptionKeys.find(this.#sql, {}, { columns: ['id'], orderBy: ['id desc'], limit: 1 })
    return newest?.id ?? this.#addKey()
  }

  async #addKey(): Promise<string> {
    const now = this.#clock.now()
    const id = uuidv7(now)
    const sealed = this.#installation().seal(randomBytes(32).toString('base64url'))
    await encryptionKeys.insert(this.#sql, { id, sealed, createdAt: new Date(now) })
    this.#newest = id
    return id
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
