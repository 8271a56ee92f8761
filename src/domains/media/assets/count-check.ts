import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import type { KeptCounts } from '../../workspace/workspaces/index.ts'
import { assetCounts, assetFolders, assetTags } from './tables.ts'

/** Assets or files that one statement reads. */
const PAGE = 500

interface AssetPage {
  readonly last: string | null
  readonly count: number
  readonly renditionBytes: number
  readonly tags: Readonly<Record<string, number>> | null
  readonly folders: Readonly<Record<string, number>> | null
}

// Written by hand, because several totals of one page are easier to read so.
const ASSETS = `
  with page as (
    select id, folder_id, tags from assets
    where workspace_id = $1 and deleted_at is null and id > $2 order by id limit ${PAGE})
  select (select id from page order by id desc limit 1) as last,
    (select count(*) from page) as count,
    (select coalesce(sum(r.size), 0)::bigint from asset_renditions r join page p on p.id = r.asset_id) as "renditionBytes",
    (select json_object_agg(tag, n) from (select tag, count(*) as n from page, unnest(tags) tag group by tag) t) as tags,
    (select json_object_agg(folder_id, n) from (
      select folder_id, count(*) as n from page where folder_id is not null group by folder_id) f) as folders`

interface FilePage {
  readonly last: string | null
  readonly count: number
  readonly wrongCount: number
  readonly bytes: Readonly<Record<string, number>> | null
}

const FILES = `
  with page as (
    select id, sha256, kind, size, asset_count, use_count from asset_files
    where workspace_id = $1 and sha256 > $2 order by sha256 limit ${PAGE}
  ), counted as (
    select p.*, c.* from page p cross join lateral (
      select count(*) as n, count(*) filter (where deleted_at is null) as live from assets a where a.file_id = p.id) c)
  select (select sha256 from page order by sha256 desc limit 1) as last,
    (select count(*) from page) as count,
    (select count(*) from counted where asset_count <> n or use_count <> live) as "wrongCount",
    (select json_object_agg(kind, bytes) from (
      select kind, sum(size) as bytes from counted where live > 0 group by kind) k) as bytes`

/** The counts of the media library: assets, bytes, tags, and the contents of folders. */
export const countsOfAssets: KeptCounts = {
  name: 'assets',

  async agrees(sql, workspaceId) {
    const assets = await countAssets(sql, workspaceId)
    const files = await countFiles(sql, workspaceId)
    const kept = await assetCounts.first(sql, { workspaceId })
    return (
      files.wrongCount === 0 &&
      assets.count === (kept?.assetCount ?? 0) &&
      assets.renditionBytes === (kept?.renditionBytes ?? 0) &&
      (files.bytes.get('image') ?? 0) === (kept?.imageBytes ?? 0) &&
      (files.bytes.get('video') ?? 0) === (kept?.videoBytes ?? 0) &&
      (files.bytes.get('audio') ?? 0) === (kept?.audioBytes ?? 0) &&
      (files.bytes.get('document') ?? 0) === (kept?.documentBytes ?? 0) &&
      isDeepStrictEqual(assets.tags, await keptTags(sql, workspaceId)) &&
      isDeepStrictEqual(assets.folders, await keptFolders(sql, workspaceId))
    )
  },

  async recount({ sql, workspaceId }) {
    await sql.run('select asset_recount(array[$1::uuid])', [workspaceId])
  },
}

async function countAssets(sql: Sql, workspaceId: string) {
  const total = { count: 0, renditionBytes: 0, tags: new Map<string, number>(), folders: new Map<string, number>() }
  for (let last = '00000000-0000-0000-0000-000000000000'; ;) {
    const page = await sql.row<AssetPage>(ASSETS, [workspaceId, last])
    if (page === undefined || page.last === null) return total
    total.count += page.count
    total.renditionBytes += page.renditionBytes
    addAll(total.tags, page.tags)
    addAll(total.folders, page.folders)
    last = page.last
    if (page.count < PAGE) return total
  }
}

async function countFiles(sql: Sql, workspaceId: string) {
  const total = { wrongCount: 0, bytes: new Map<string, number>() }
  for (let last = ''; ;) {
    const page = await sql.row<FilePage>(FILES, [workspaceId, last])
    if (page === undefined || page.last === null) return total
    total.wrongCount += page.wrongCount
    addAll(total.bytes, page.bytes)
    last = page.last
    if (page.count < PAGE) return total
  }
}

function addAll(total: Map<string, number>, page: Readonly<Record<string, number>> | null): void {
  for (const [key, count] of Object.entries(page ?? {})) total.set(key, (total.get(key) ?? 0) + count)
}

async function keptTags(sql: Sql, workspaceId: string): Promise<Map<string, number>> {
  const rows = await assetTags.find(sql, { workspaceId }, { columns: ['tag', 'assetCount'] })
  return new Map(rows.map(({ assetCount, tag }) => [tag, assetCount]))
}

async function keptFolders(sql: Sql, workspaceId: string): Promise<Map<string, number>> {
  const where = { workspaceId, assetCount: greaterThan(0) }
  const rows = await assetFolders.find(sql, where, { columns: ['id', 'assetCount'] })
  return new Map(rows.map(({ assetCount, id }) => [id, assetCount]))
}
