import { DAY, HOUR, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { BIN_MS } from './library.ts'
import { renditionKeys } from './store.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly assetHousekeeping: AssetHousekeeping
  }
}

const BATCH = 200

/** A file that is younger may belong to a request that is still under way. */
const SETTLED_MS = DAY

/** Finds out which of some stored files a domain refers to, by their ids. */
export type FindFiles = (sql: Sql, fileIds: readonly string[]) => Promise<readonly string[]>

/**
 * Deletes assets that have been in the bin long enough, and stored files that nothing refers to. Rows are deleted first,
 * files after them.
 */
export class AssetHousekeeping {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #storage: Storage
  readonly #filesElsewhere: readonly FindFiles[]

  /** @param filesElsewhere files of other domains: only what none of them refers to is deleted */
  constructor(sql: Sql, clock: Clock, storage: Storage, filesElsewhere: readonly FindFiles[]) {
    this.#filesElsewhere = filesElsewhere
    this.#sql = sql
    this.#clock = clock
    this.#storage = storage
  }

  async emptyBin(signal?: AbortSignal): Promise<void> {
    const before = new Date(this.#clock.now() - BIN_MS)
    for (let more = true; more;) {
      const gone = await this.#sql.rows<{ id: string }>(
        `delete from assets where id in (select id from assets where deleted_at < $1 limit ${BATCH}) returning id`,
        [before],
      )
      const ids = gone.map((row) => row.id)
      const renditions = await this.#sql.rows<{ id: string; workspace_id: string; type: string | null }>(
        'delete from asset_renditions where asset_id = any($1) returning id, workspace_id, type',
        [ids],
      )
      for (const { id, type, workspace_id: owner } of renditions) {
        for (const key of renditionKeys(owner, id, type)) await this.#storage.delete(key)
      }
      more = ids.length === BATCH && !isOver(signal)
    }
    await this.#dropFiles(signal)
  }

  /**
   * Contents that no asset shows, also none in the bin. Their files go with them. One that an asset is about to show was
   * touched in that asset's transaction: it is passed over while that goes on, and is too young after it.
   */
  async #dropFiles(signal: AbortSignal | undefined): Promise<void> {
    for (let more = true; more;) {
      const gone = await this.#sql.rows<{ id: string; workspace_id: string; thumbnails: { name: string }[] }>(
        `delete from asset_files where id in (
           select f.id from asset_files f where f.updated_at < $1
             and not exists (select 1 from assets a where a.file_id = f.id)
           limit ${BATCH} for update skip locked)
         returning id, workspace_id, thumbnails`,
        [new Date(this.#clock.now() - HOUR)],
      )
      for (const { id, thumbnails, workspace_id: owner } of gone) {
        const key = fileKey(owner, id)
        for (const { name } of thumbnails) await this.#storage.delete(`${key}.thumbnail-${name}`)
        await this.#storage.delete(key)
      }
      more = gone.length === BATCH && !isOver(signal)
    }
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    await this.#sql.run('delete from storage_reservations where expires_at < $1', [new Date(now)])
    const expired = await this.#sql.rows<{ id: string }>(
      `update uploads set state = 'expired', updated_at = $1 where state in ('open', 'received') and expires_at < $1
       returning id`,
      [new Date(now)],
    )
    for (const { id } of expired) await this.#storage.pieces.discard(id)
    await this.#storage.sweep(SETTLED_MS)
    let batch: string[] = []
    for await (const { key, modifiedAt } of this.#storage.list()) {
      if (signal?.aborted) return
      if (Date.parse(modifiedAt) > now - SETTLED_MS) continue
      batch.push(key)
      if (batch.length === BATCH) await this.#dropOrphans(batch.splice(0))
    }
    await this.#dropOrphans(batch)
  }

  async #dropOrphans(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const idOf = (key: string) => key.slice(37, 73)
    const asked = [...new Set(keys.map(idOf))]
    const known = await this.#sql.rows<{ id: string }>(
      `select id from asset_files where id = any($1) union select id from asset_renditions where id = any($1)
       union select (file->>'fileId')::uuid from uploads where (file->>'fileId')::uuid = any($1) and state = 'received'`,
      [asked],
    )
    const elsewhere = await Promise.all(this.#filesElsewhere.map((find) => find(this.#sql, asked)))
    const ids = new Set([...known.map((row) => row.id), ...elsewhere.flat()])
    for (const key of keys) if (!ids.has(idOf(key))) await this.#storage.delete(key)
  }
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}
