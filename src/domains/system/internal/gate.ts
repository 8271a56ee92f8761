import { MINUTE, type Clock } from '../../../core/clock.ts'
import { parseInstant } from '../../../core/instant.ts'
import type { Workers } from '../../../core/ports.ts'
import type { Sql } from '../../../core/sql.ts'
import type { WorkerGrant } from '../../../core/worker-grant.ts'
import { WorkerRequestExpired, WorkerRequestReplayed, WorkerSignatureWrong } from './errors.ts'
import { WORKER_SCHEME, type WorkerSignatures } from './signing.ts'
import { workerRequests } from './tables.ts'

/** How far the clock of a worker may be off. */
const SKEW_MS = 5 * MINUTE

/** Admits requests of workers: signed, new, and each only once. */
export class WorkerGate implements Workers {
  readonly scheme = WORKER_SCHEME
  readonly #signatures: WorkerSignatures
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(signatures: WorkerSignatures, sql: Sql, clock: Clock) {
    this.#signatures = signatures
    this.#sql = sql
    this.#clock = clock
  }

  async admit(target: string, authorization: string): Promise<WorkerGrant> {
    const claims = this.#signatures.read(target, authorization)
    const date = claims && parseInstant(claims.date)
    if (claims === undefined || date === undefined) throw WorkerSignatureWrong()
    const now = this.#clock.now()
    if (Math.abs(date.getTime() - now) > SKEW_MS) {
      throw WorkerRequestExpired({ details: { serverTime: new Date(now).toISOString() } })
    }
    const expiresAt = new Date(date.getTime() + 2 * SKEW_MS)
    const first = await workerRequests.insert(this.#sql, { nonce: claims.nonce, expiresAt }, { ignoreConflict: true })
    if (first === 0) throw WorkerRequestReplayed()
    const { owner: ownerId, sha256, size } = claims
    return { ownerId, sha256, size }
  }
}
