import { NotFound } from '../../../core/errors.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlanService } from '../../money/plans/service.ts'
import type { AssetDownloads } from './downloads.ts'
import type { WorkspaceService } from '../../workspace/workspaces/service.ts'
import type { Searches } from '../../../db/searches.ts'
import { listAssets } from './listing.ts'
import type { Quota } from './quota.ts'
import type { AssetData, AssetFilter } from './schemas.ts'
import { findAsset, findAssets, renditionsOf, type AssetRow } from './store.ts'
import { useView, type AssetUses } from './uses.ts'
import type { AssetViews } from './views.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly assetReader: AssetReader
  }
}

interface ReaderNeeds {
  readonly sql: Sql
  readonly searches: Searches
  readonly downloads: AssetDownloads
  readonly quota: Quota
  readonly plans: PlanService
  readonly workspaces: WorkspaceService
  readonly uses: AssetUses
  readonly views: AssetViews
}

/** What the media library holds. Reads only. */
export class AssetReader {
  readonly #needs: ReaderNeeds

  constructor(needs: ReaderNeeds) {
    this.#needs = needs
  }

  /** @throws AppError validation_failed; with words to look for also search_too_broad, overloaded */
  list(filter: AssetFilter): Promise<PageResult<AssetData>> {
    const { searches, sql, views } = this.#needs
    if (filter.q === undefined) return listAssets(sql, views, filter)
    return searches.run(filter.workspaceId, (search) => listAssets(search, views, filter))
  }

  /** @throws AppError not_found, also for what is in the bin */
  async get(id: string) {
    const { sql, uses, views } = this.#needs
    const row = await this.#row(id)
    const [renditions, used] = await Promise.all([renditionsOf(sql, id), uses.of(sql, row.workspace_id, [id])])
    return {
      ...views.asset(row),
      renditions: renditions.map((rendition) => views.rendition(rendition)),
      usedIn: (used.get(id) ?? []).map(useView),
    }
  }

  async thumbnail(id: string) {
    return this.#needs.views.thumbnail(await this.#row(id))
  }

  /** A row for every id, in the order asked for. */
  async resolve(workspaceId: string, ids: readonly string[]) {
    const rows = new Map((await findAssets(this.#needs.sql, workspaceId, ids)).map((row) => [row.id, row]))
    return ids.map((id) => {
      const row = rows.get(id)
      if (row === undefined) {
        const nothing = { name: null, kind: null, type: null, url: null, signedUrl: null, signedUntil: null }
        return { _id: id, found: false, ...nothing, thumbnail: null }
      }
      const { kind, name, signedUntil, signedUrl, thumbnail, type, url } = this.#needs.views.asset(row)
      return { _id: id, found: true, name, kind, type, url, signedUrl, signedUntil, thumbnail }
    })
  }

  tags(workspaceId: string): Promise<{ tag: string; assetCount: number }[]> {
    return this.#needs.sql.rows(
      `select tag, count(*)::int as "assetCount" from assets, unnest(tags) tag
       where workspace_id = $1 and deleted_at is null group by tag order by 2 desc, tag limit 1000`,
      [workspaceId],
    )
  }

  async usage(workspaceId: string) {
    const { plans, quota, sql, workspaces } = this.#needs
    const owner = await workspaces.ownerOf(workspaceId)
    if (owner === undefined) throw NotFound()
    const kinds = await sql.rows<{ kind: 'image' | 'video' | 'audio' | 'document'; bytes: number }>(
      `select kind, sum(size)::bigint as bytes from asset_files f where workspace_id = $1
         and exists (select 1 from assets a where a.file_id = f.id and a.deleted_at is null) group by kind`,
      [workspaceId],
    )
    const other = await sql.row<{ asset_count: number; renditions: number }>(
      `select (select count(*)::int from assets where workspace_id = $1 and deleted_at is null) as asset_count,
         (select coalesce(sum(r.size), 0)::bigint from asset_renditions r join assets a on a.id = r.asset_id
           where r.workspace_id = $1 and a.deleted_at is null) as renditions`,
      [workspaceId],
    )
    const renditions = other?.renditions ?? 0
    const byKind = { image: 0, video: 0, audio: 0, document: 0, renditions }
    for (const { bytes, kind } of kinds) byKind[kind] = bytes
    const { storageBytes: limit } = await plans.limitsOf(owner)
    const used = await quota.usedBy(sql, owner)
    const total = used.files + used.renditions
    return {
      workspaceId,
      bytes: Object.values(byKind).reduce((sum, bytes) => sum + bytes, 0),
      byKind,
      assetCount: other?.asset_count ?? 0,
      quota: { limit, used: total, held: used.held, left: Math.max(0, limit - total - used.held) },
    }
  }

  /** @throws AppError not_found */
  async file(id: string, variant: string | undefined) {
    return this.#needs.downloads.file(await this.#row(id), variant)
  }

  async #row(id: string): Promise<AssetRow> {
    const row = await findAsset(this.#needs.sql, id)
    if (row === undefined) throw NotFound()
    return row
  }
}
