import { sql } from 'kysely'
import { HOUR, type Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import type { Foundation } from '../../../foundation.ts'
import { query } from '../../../db/query.ts'
import { nextStep, planLabel, type Allowance, type PlanService } from '../../money/plans/index.ts'
import { findOwned, payerOf } from '../../workspace/workspaces/index.ts'
import { StorageLimit } from './errors.ts'
import { mediaTables, storageReservations } from './tables.ts'

/** How long a reservation lasts if the client disconnects and nothing ends it. */
const RESERVATION_MS = 6 * HOUR

/** Bytes that count against the plan: files and renditions of assets that are not in the bin, and open reservations. */
const usedIn = query(mediaTables, (db, $: { workspaceIds: readonly string[]; now: Date }) => {
  const counted = (bytes: string) =>
    db
      .selectFrom('assetCounts as c')
      .select(sql<number>`coalesce(sum(${sql.raw(bytes)}), 0)::bigint`.as('bytes'))
      .where('c.workspaceId', '=', anyIn($.workspaceIds))
  const held = db
    .selectFrom('storageReservations as s')
    .select(sum('s.bytes'))
    .where('s.workspaceId', '=', anyIn($.workspaceIds))
    .where('s.expiresAt', '>', sql<string>`${$.now}`)
  return db.selectNoFrom([
    counted('image_bytes + video_bytes + audio_bytes + document_bytes').$asScalar().$notNull().as('files'),
    counted('rendition_bytes').$asScalar().$notNull().as('renditions'),
    held.$asScalar().$notNull().as('held'),
  ])
})

/** Bytes needed to restore an asset from the bin. Its file counts unless another asset uses it. */
const neededBy = query(mediaTables, (db, $: { assetId: string }) =>
  db
    .selectFrom('assets as a')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select((e) => [
      e
        .case()
        .when(e('f.useCount', '>', 0))
        .then(0)
        .else(sql<number>`f.size`)
        .end()
        .as('file'),
      e
        .selectFrom('assetRenditions as r')
        .select(sum('r.size'))
        .whereRef('r.assetId', '=', 'a.id')
        .$asScalar()
        .$notNull()
        .as('renditions'),
    ])
    .where('a.id', '=', $.assetId),
)

function sum(column: 'r.size' | 's.bytes') {
  return sql<number>`coalesce(sum(${sql.ref(column)}), 0)::bigint`.as('bytes')
}

function anyIn(ids: readonly string[]) {
  return sql<string>`any(${ids})`
}

export interface StorageUse {
  readonly files: number
  readonly renditions: number
  readonly held: number
}

/**
 * Enforces the storage limit of a plan. Storage is reserved before a file is received, under a lock on the subscription of
 * the workspace's owner. The reservation ends when the asset is added.
 */
export class Quota {
  readonly #database: Database
  readonly #clock: Clock
  readonly #plans: PlanService

  constructor({ clock, database }: Pick<Foundation, 'clock' | 'database'>, plans: PlanService) {
    this.#database = database
    this.#clock = clock
    this.#plans = plans
  }

  /**
   * Reserves storage for a file.
   * @param id id of the new reservation
   * @param bytes undefined if the client does not announce the size. All storage that is left is reserved then
   * @returns the reserved bytes
   * @throws AppError storage_limit_reached
   */
  async reserve(workspaceId: string, id: string, bytes: number | undefined, forMs = RESERVATION_MS): Promise<number> {
    const owner = await payerOf(this.#database, workspaceId)
    if (owner === undefined) throw NotFound()
    return this.#database.transaction(async (tx) => {
      const allowance = await this.#plans.lockLimitsOf(tx, owner)
      const now = this.#clock.now()
      const left = await this.#requireLeft(tx, owner, allowance, bytes ?? 1)
      const reserved = bytes ?? left
      await storageReservations.insert(tx, { id, workspaceId, bytes: reserved, expiresAt: new Date(now + forMs) })
      return reserved
    })
  }

  /** Checks that some storage is left, without reserving it. @throws AppError storage_limit_reached */
  async requireSpace(database: Sql, workspaceId: string): Promise<void> {
    const owner = await payerOf(database, workspaceId)
    if (owner === undefined) throw NotFound()
    await this.#requireLeft(database, owner, await this.#plans.limitsOf(owner), 1)
  }

  /**
   * Checks that enough storage is left to restore an asset and its renditions from the bin. The subscription stays locked
   * until the transaction ends.
   * @throws AppError storage_limit_reached
   */
  async requireSpaceToRestore(database: Sql, workspaceId: string, assetId: string): Promise<void> {
    const owner = await payerOf(database, workspaceId)
    if (owner === undefined) throw NotFound()
    const allowance = await this.#plans.lockLimitsOf(database, owner)
    const needed = await neededBy.row(database, { assetId })
    const bytes = needed === undefined ? 0 : needed.file + needed.renditions
    if (bytes > 0) await this.#requireLeft(database, owner, allowance, bytes)
  }

  /** Whether the plan has this many bytes left. */
  async hasSpace(database: Sql, workspaceId: string, bytes: number): Promise<boolean> {
    const owner = await payerOf(database, workspaceId)
    if (owner === undefined) return false
    const { left } = await this.#usage(database, owner, await this.#plans.limitsOf(owner))
    return left >= bytes
  }

  async #usage(database: Sql, owner: string, { storageBytes }: Allowance): Promise<{ used: number; left: number }> {
    const { files, held, renditions } = await this.usedBy(database, owner)
    const used = files + renditions + held
    return { used, left: storageBytes - used }
  }

  /** @returns the bytes that are left @throws AppError storage_limit_reached if fewer are left than needed */
  async #requireLeft(database: Sql, owner: string, allowance: Allowance, needed: number): Promise<number> {
    const { isTrial, plan, storageBytes } = allowance
    const { left, used } = await this.#usage(database, owner, allowance)
    if (left >= needed) return left
    throw StorageLimit({
      message: `The ${planLabel(allowance)} has ${Math.max(0, left)} of ${storageBytes} bytes left. ${nextStep(allowance, 'storageBytes')}`,
      details: { limit: 'storageBytes', value: storageBytes, used, plan, isTrial },
      hint: this.#plans.hintFor(allowance),
    })
  }

  /**
   * Changes the size of a reservation, or adds the reservation.
   * @throws AppError storage_limit_reached. The reservation is unchanged then
   */
  async resize(workspaceId: string, id: string, bytes: number, forMs = RESERVATION_MS): Promise<void> {
    const owner = await payerOf(this.#database, workspaceId)
    if (owner === undefined) throw NotFound()
    await this.#database.transaction(async (tx) => {
      const allowance = await this.#plans.lockLimitsOf(tx, owner)
      const own = await storageReservations.first(tx, { id })
      const { files, held, renditions } = await this.usedBy(tx, owner)
      if (files + renditions + held - (own?.bytes ?? 0) + bytes > allowance.storageBytes) {
        throw StorageLimit({
          message: `The file exceeds the storage limit of the plan. ${nextStep(allowance, 'storageBytes')}`,
          hint: this.#plans.hintFor(allowance),
        })
      }
      const expiresAt = new Date(this.#clock.now() + forMs)
      await storageReservations.upsert(tx, { id, workspaceId, bytes, expiresAt }, ['id'], ['bytes', 'expiresAt'])
    })
  }

  /** Ends a reservation. @param database the transaction that adds the file of the reservation */
  async release(id: string, database: Sql = this.#database): Promise<void> {
    await storageReservations.delete(database, { id })
  }

  /** Storage used by all workspaces of an owner. */
  async usedBy(database: Sql, owner: string): Promise<StorageUse> {
    const workspaceIds = await findOwned(database, owner)
    const used = await usedIn.row(database, { workspaceIds, now: new Date(this.#clock.now()) })
    return used ?? { files: 0, renditions: 0, held: 0 }
  }
}
