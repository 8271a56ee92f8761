import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import type { PostData } from './schemas.ts'
import { loadPost, savePost } from './store.ts'
import { posts } from './tables.ts'

/** Those of the posts that were not deleted. */
export async function linkedPosts(sql: Sql, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const found = await posts.find(sql, { id: anyOf(ids), deletedAt: null }, { columns: ['id'] })
  return new Set(found.map(({ id }) => id))
}

/** Removes the links of posts to ideas that are deleted. */
export async function unlinkIdeas(turn: Turn, postIds: readonly string[]): Promise<void> {
  for (const id of await linkedPosts(turn.sql, postIds)) {
    const before = await loadPost(turn.sql, id)
    await savePost(turn, before, { ...before, post: { ...before.post, ideaId: null } })
  }
}

/** A post, unless it was deleted. */
export async function findPostView(sql: Sql, id: string): Promise<PostData | undefined> {
  return (await posts.first(sql, { id, deletedAt: null }, { columns: ['view'] }))?.view
}
