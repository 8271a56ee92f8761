import { HOUR, type Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import type { Allowance, PlanService } from '../../money/plans/service.ts'
import type { WorkspaceService } from '../../workspace/workspaces/service.ts'
import { StorageLimit } from './errors.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly assetQuota: Quota
  }
}

/** Room that is held for an upload whose client has vanished comes back after this. */
const HELD_MS = 6 * HOUR

/** Bytes that count: files that an asset shows which is not in the bin, their renditions, and uploads under way. */
const USED = `
  select coalesce((select sum(f.size) from asset_files f where f.workspace_id = any(o.ids)
        and exists (select 1 from assets a where a.file_id = f.id and a.deleted_at is null)), 0)::bigint as files,
    coalesce((select sum(r.size) from asset_renditions r join assets a on a.id = r.asset_id
        where r.workspace_id = any(o.ids) and a.deleted_at is null), 0)::bigint as renditions,
    coalesce((select sum(s.bytes) from storage_reservations s
        where s.workspace_id = any(o.ids) and s.expires_at > $2), 0)::bigint as held
  from (select array_agg(id) as ids from workspaces where owner_id = $1 and deleted_at is null) o`

/** Bytes that will count again with an asset of the bin: of its file only where no other asset shows that already. */
const NEEDED = `
  select (coalesce((select sum(r.size) from asset_renditions r where r.asset_id = a.id), 0)
    + case when exists (select 1 from assets b where b.file_id = a.file_id and b.deleted_at is null) then 0 else f.size end)::bigint as bytes
  from assets a join asset_files f on f.id = a.file_id where a.id = $1`

export interface StorageUse {
  readonly files: number
  readonly renditions: number
  readonly held: number
}

export interface QuotaNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly plans: PlanService
  readonly workspaces: WorkspaceService
}

/** What a plan allows of storage. Room is held before a file comes, under a lock of its owner, and settled after. */
export class Quota {
  readonly #needs: QuotaNeeds

  constructor(needs: QuotaNeeds) {
    this.#needs = needs
  }

  /**
   * Holds room for a file. @param bytes undefined when the client does not say: then all that is left is held
   * @returns the bytes held
   * @throws AppError storage_limit_reached
   */
  async hold(workspaceId: string, id: string, bytes: number | undefined, forMs = HELD_MS): Promise<number> {
    const { clock, database, plans, workspaces } = this.#needs
    const owner = await workspaces.ownerOf(workspaceId)
    if (owner === undefined) throw NotFound()
    return database.transaction(async (tx) => {
      const allowance = await plans.lockLimitsOf(tx, owner)
      const now = clock.now()
      const left = await this.#left(tx, owner, allowance, bytes ?? 1)
      const taken = bytes ?? left
      await tx.run('insert into storage_reservations (id, workspace_id, bytes, expires_at) values ($1, $2, $3, $4)', [
        id,
        workspaceId,
        taken,
        new Date(now + forMs),
      ])
      return taken
    })
  }

  /** Refuses what would need room where there is none at all; whoever then takes some holds it first. @throws AppError */
  async requireRoom(sql: Sql, workspaceId: string): Promise<void> {
    const { plans, workspaces } = this.#needs
    const owner = await workspaces.ownerOf(workspaceId)
    if (owner === undefined) throw NotFound()
    await this.#left(sql, owner, await plans.limitsOf(owner), 1)
  }

  /**
   * Refuses an asset to come out of the bin when the plan has no room for it and its renditions. The plan stays locked
   * until the transaction ends, in which the asset takes the room. @throws AppError storage_limit_reached
   */
  async requireRoomFor(sql: Sql, workspaceId: string, assetId: string): Promise<void> {
    const { plans, workspaces } = this.#needs
    const owner = await workspaces.ownerOf(workspaceId)
    if (owner === undefined) throw NotFound()
    const allowance = await plans.lockLimitsOf(sql, owner)
    const needed = await sql.row<{ bytes: number }>(NEEDED, [assetId])
    if (needed !== undefined && needed.bytes > 0) await this.#left(sql, owner, allowance, needed.bytes)
  }

  /** Whether the plan has so many bytes left. */
  async hasRoom(sql: Sql, workspaceId: string, bytes: number): Promise<boolean> {
    const { plans, workspaces } = this.#needs
    const owner = await workspaces.ownerOf(workspaceId)
    if (owner === undefined) return false
    const { left } = await this.#room(sql, owner, await plans.limitsOf(owner))
    return left >= bytes
  }

  async #room(sql: Sql, owner: string, { storageBytes }: Allowance): Promise<{ used: number; left: number }> {
    const { files, held, renditions } = await this.usedBy(sql, owner)
    const used = files + renditions + held
    return { used, left: storageBytes - used }
  }

  /** @returns the bytes that are left @throws AppError storage_limit_reached when they are fewer than needed */
  async #left(sql: Sql, owner: string, allowance: Allowance, needed: number): Promise<number> {
    const { plan, storageBytes } = allowance
    const { left, used } = await this.#room(sql, owner, allowance)
    if (left >= needed) return left
    throw StorageLimit({
      message: `The plan ${plan} has ${Math.max(0, left)} of ${storageBytes} bytes left.`,
      details: { limit: 'storageBytes', value: storageBytes, used, plan },
    })
  }

  /**
   * Makes the room held under an id as large as this, whatever it was.
   * @throws AppError storage_limit_reached; then what was held stays held
   */
  async resize(workspaceId: string, id: string, bytes: number, forMs = HELD_MS): Promise<void> {
    const { clock, database, plans, workspaces } = this.#needs
    const owner = await workspaces.ownerOf(workspaceId)
    if (owner === undefined) throw NotFound()
    await database.transaction(async (tx) => {
      const { storageBytes } = await plans.lockLimitsOf(tx, owner)
      const own = await tx.row<{ bytes: number }>('select bytes from storage_reservations where id = $1', [id])
      const { files, held, renditions } = await this.usedBy(tx, owner)
      if (files + renditions + held - (own?.bytes ?? 0) + bytes > storageBytes) throw StorageLimit()
      await tx.run(
        `insert into storage_reservations (id, workspace_id, bytes, expires_at) values ($1, $2, $3, $4)
         on conflict (id) do update set bytes = excluded.bytes, expires_at = excluded.expires_at`,
        [id, workspaceId, bytes, new Date(clock.now() + forMs)],
      )
    })
  }

  /** Gives the room back; once the file is there, in the transaction that says so. */
  async release(id: string, sql: Sql = this.#needs.database): Promise<void> {
    await sql.run('delete from storage_reservations where id = $1', [id])
  }

  async usedBy(sql: Sql, owner: string): Promise<StorageUse> {
    const row = await sql.row<StorageUse>(USED, [owner, new Date(this.#needs.clock.now())])
    return row ?? { files: 0, renditions: 0, held: 0 }
  }
}
