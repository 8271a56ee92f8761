import { sql } from 'kysely'
import { DAY, HOUR, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf, lessThan } from '../../../db/condition.ts'
import { deleteInBatches } from '../../../db/delete-in-batches.ts'
import { query } from '../../../db/query.ts'
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { BIN_MS } from './library.ts'
import { renditionKeys } from './store.ts'
import { assetRenditions, assets, mediaTables, storageReservations, uploads } from './tables.ts'

const BATCH = 200

/** Files that changed more recently may belong to a request that is still running. */
const SETTLED_MS = DAY

/** Returns which of the given file ids a domain refers to. */
type FindFiles = (database: Sql, fileIds: readonly string[]) => Promise<readonly string[]>

/** Deletes files that no asset uses. Skips files for which a running transaction adds an asset. */
const unusedFiles = query(mediaTables, (db, $: { before: string; limit: number }) =>
  db
    .deleteFrom('assetFiles')
    .where('id', 'in', (e) =>
      e
        .selectFrom('assetFiles as f')
        .select('f.id')
        .where('f.updatedAt', '<', $.before)
        .where(sql<boolean>`f.asset_count = 0`)
        .orderBy('f.updatedAt')
        .limit($.limit)
        .forUpdate()
        .skipLocked(),
    )
    .returning(['id', 'workspaceId', 'thumbnails']),
)

/** Ids of files that assets, renditions or uploads refer to. */
const knownFiles = query(mediaTables, (db, $: { ids: readonly string[] }) => {
  const given = sql<string>`any(${$.ids})`
  return db
    .selectFrom('assetFiles as f')
    .select('f.id')
    .where('f.id', '=', given)
    .union((e) => e.selectFrom('assetRenditions as r').select('r.id').where('r.id', '=', given))
    .union((e) =>
      e
        .selectFrom('uploads as u')
        .select(sql<string>`(u.file->>'fileId')::uuid`.as('id'))
        .where(sql<string>`(u.file->>'fileId')::uuid`, '=', given)
        .where('u.state', '=', 'received'),
    )
})

/**
 * Deletes assets that have been in the bin for 30 days, and stored files without references. Rows are deleted before
 * files, so that no row refers to a missing file.
 */
export class AssetHousekeeping {
  readonly #database: Sql
  readonly #clock: Clock
  readonly #storage: Storage
  readonly #filesElsewhere: FindFiles[] = []

  constructor(database: Sql, clock: Clock, storage: Storage) {
    this.#database = database
    this.#clock = clock
    this.#storage = storage
  }

  /** Keeps the files that a domain refers to. Every domain that stores files itself registers how to find them. */
  keep(find: FindFiles): void {
    this.#filesElsewhere.push(find)
  }

  /** Deletes assets that have been in the bin for 30 days, and files that no asset uses any more. */
  async emptyBin(signal?: AbortSignal): Promise<void> {
    const deletedAt = lessThan(new Date(this.#clock.now() - BIN_MS))
    for (let more = true; more;) {
      const due = await assets.find(this.#database, { deletedAt }, { columns: ['id'], limit: BATCH })
      const assetId = anyOf(due.map(({ id }) => id))
      // Renditions are deleted with their assets. Assets in the bin get no new ones.
      const renditions = await assetRenditions.find(this.#database, { assetId })
      const deleted = await assets.deleteReturning(this.#database, { id: assetId, deletedAt }, ['id'])
      const deletedIds = new Set(deleted.map(({ id }) => id))
      for (const { assetId: of, id, type, workspaceId } of renditions) {
        if (!deletedIds.has(of)) continue
        for (const key of renditionKeys(workspaceId, id, type)) await this.#storage.delete(key)
      }
      more = due.length === BATCH && !isAborted(signal)
    }
    await this.#deleteUnusedFiles(signal)
  }

  /**
   * Deletes files that no asset uses, in the bin or outside of it. Adding an asset for a stored file updates the row of
   * the file. The row is locked during that transaction, and its time is too recent after it.
   */
  async #deleteUnusedFiles(signal: AbortSignal | undefined): Promise<void> {
    for (let more = true; more;) {
      const before = new Date(this.#clock.now() - HOUR).toISOString()
      const deleted = await unusedFiles.rows(this.#database, { before, limit: BATCH })
      for (const { id, thumbnails, workspaceId } of deleted) {
        const key = fileKey(workspaceId, id)
        for (const { name } of thumbnails) await this.#storage.delete(`${key}.thumbnail-${name}`)
        await this.#storage.delete(key)
      }
      more = deleted.length === BATCH && !isAborted(signal)
    }
  }

  /** Ends expired reservations and uploads, and deletes stored files without references. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    const expiresAt = lessThan(new Date(now))
    await deleteInBatches(storageReservations, this.#database, { expiresAt }, signal)
    const expired = await uploads.updateReturning(
      this.#database,
      { state: anyOf(['open', 'received'] as const), expiresAt },
      { state: 'expired', updatedAt: new Date(now) },
    )
    for (const { id } of expired) await this.#storage.pieces.discard(id)
    await this.#storage.sweep(SETTLED_MS)
    let batch: string[] = []
    for await (const { key, modifiedAt } of this.#storage.list()) {
      if (signal?.aborted) return
      if (Date.parse(modifiedAt) > now - SETTLED_MS) continue
      batch.push(key)
      if (batch.length === BATCH) await this.#deleteOrphans(batch.splice(0))
    }
    await this.#deleteOrphans(batch)
  }

  async #deleteOrphans(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const idOf = (key: string) => key.slice(37, 73)
    const fileIds = [...new Set(keys.map(idOf))]
    const known = await knownFiles.rows(this.#database, { ids: fileIds })
    const elsewhere = await Promise.all(this.#filesElsewhere.map((find) => find(this.#database, fileIds)))
    const ids = new Set([...known.map((row) => row.id), ...elsewhere.flat()])
    for (const key of keys) if (!ids.has(idOf(key))) await this.#storage.delete(key)
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}
