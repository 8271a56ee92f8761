import { NotFound } from '../../../core/errors.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { payerOf } from '../../workspace/workspaces/index.ts'
import type { AssetDownloads } from './downloads.ts'
import { listAssets } from './listing.ts'
import type { Quota } from './quota.ts'
import type { AssetData, AssetFilter } from './schemas.ts'
import { findAsset, findAssets, renditionsOf, type AssetRow } from './store.ts'
import { assetCounts } from './tables.ts'
import { listTags } from './tags.ts'
import { useView, type AssetUses } from './uses.ts'
import type { AssetViews } from './views.ts'

type Dependencies = Pick<Foundation, 'database' | 'searches'> & {
  readonly downloads: AssetDownloads
  readonly quota: Quota
  readonly plans: PlanService
  readonly uses: AssetUses
  readonly views: AssetViews
}

/**
 * Whether an index has the assets in their order. Other combinations are searches: how many assets match is known only
 * for given values, so their plans are made for them.
 */
function isListed({ bin, folderId, q, sort = 'newest', tag, type }: AssetFilter): boolean {
  if (q !== undefined || tag !== undefined) return false
  const filters = [folderId, type].filter((value) => value !== undefined).length
  const byTime = sort === 'newest' || sort === 'oldest'
  return bin === true ? byTime && filters === 0 : filters === 0 || (byTime && filters === 1)
}

/** Reads the media library. */
export class AssetReader {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws AppError validation_failed. For a search, a filter by tag, or several filters, also search_too_broad and overloaded */
  list(filter: AssetFilter): Promise<PageResult<AssetData>> {
    const { searches, database, views } = this.#dependencies
    if (isListed(filter)) return listAssets(database, views, filter)
    return searches.run(filter.workspaceId, (search) => listAssets(search, views, filter))
  }

  /** @throws AppError not_found, including for an asset in the bin */
  async get(id: string) {
    const { database, uses, views } = this.#dependencies
    const row = await this.#row(id)
    const [renditions, used] = await Promise.all([renditionsOf(database, id), uses.of(database, row.workspaceId, [id])])
    return {
      ...views.asset(row),
      renditions: renditions.map((rendition) => views.rendition(rendition)),
      usedIn: (used.get(id) ?? []).map(useView),
    }
  }

  /** @throws AppError not_found */
  async thumbnail(id: string) {
    return this.#dependencies.views.thumbnail(await this.#row(id))
  }

  /** Returns one entry per id, in the given order. */
  async resolve(workspaceId: string, ids: readonly string[]) {
    const rows = new Map((await findAssets(this.#dependencies.database, workspaceId, ids)).map((row) => [row.id, row]))
    return ids.map((id) => {
      const row = rows.get(id)
      if (row === undefined) {
        const empty = { name: null, kind: null, type: null, url: null, signedUrl: null, signedUntil: null }
        return { _id: id, found: false, ...empty, thumbnail: null }
      }
      const { kind, name, signedUntil, signedUrl, thumbnail, type, url } = this.#dependencies.views.asset(row)
      return { _id: id, found: true, name, kind, type, url, signedUrl, signedUntil, thumbnail }
    })
  }

  tags(workspaceId: string): Promise<{ tag: string; assetCount: number }[]> {
    return listTags(this.#dependencies.database, workspaceId)
  }

  /** @throws AppError not_found */
  async usage(workspaceId: string) {
    const { plans, quota, database } = this.#dependencies
    const owner = await payerOf(database, workspaceId)
    if (owner === undefined) throw NotFound()
    const [counts, used, { storageBytes: limit }] = await Promise.all([
      assetCounts.first(database, { workspaceId }),
      quota.usedBy(database, owner),
      plans.limitsOf(owner),
    ])
    const byKind = {
      image: counts?.imageBytes ?? 0,
      video: counts?.videoBytes ?? 0,
      audio: counts?.audioBytes ?? 0,
      document: counts?.documentBytes ?? 0,
      renditions: counts?.renditionBytes ?? 0,
    }
    const total = used.files + used.renditions
    return {
      workspaceId,
      bytes: Object.values(byKind).reduce((sum, bytes) => sum + bytes, 0),
      byKind,
      assetCount: counts?.assetCount ?? 0,
      quota: { limit, used: total, held: used.held, left: Math.max(0, limit - total - used.held) },
    }
  }

  /** @throws AppError not_found */
  async file(id: string, variant: string | undefined) {
    return this.#dependencies.downloads.file(await this.#row(id), variant)
  }

  async #row(id: string): Promise<AssetRow> {
    const row = await findAsset(this.#dependencies.database, id)
    if (row === undefined) throw NotFound()
    return row
  }
}
