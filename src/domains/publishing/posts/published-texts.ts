import type { Sql } from '../../../core/sql.ts'

export interface PublishedText {
  readonly postId: string
  readonly text: string
  /** Accounts that published it, and accounts that refused it. */
  readonly publishedCount: number
  readonly failedCount: number
}

interface Found {
  readonly id: string
  readonly text: string
  readonly published: number
  readonly failed: number
}

/** The newest posts of a workspace that at least one account has published, if they have a text. */
export async function publishedTexts(sql: Sql, workspaceId: string, limit: number): Promise<PublishedText[]> {
  const found = await sql.rows<Found>(PUBLISHED, [workspaceId, limit])
  return found.map(({ failed, id, published, text }) => ({
    postId: id,
    text,
    publishedCount: published,
    failedCount: failed,
  }))
}

const PUBLISHED = `
  select p.id, p.body->>'content' as text,
    count(*) filter (where t.status in ('published', 'partial'))::integer as published,
    count(*) filter (where t.status = 'failed')::integer as failed
  from posts p join post_targets t on t.post_id = p.id
  where p.workspace_id = $1 and p.deleted_at is null and btrim(p.body->>'content') <> ''
  group by p.id
  having count(*) filter (where t.status in ('published', 'partial')) > 0
  order by p.id desc limit $2`
