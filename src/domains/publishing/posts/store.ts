import { NotFound } from '../../../core/errors.ts'
import type { EventType } from '../../../core/event.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf, type Where } from '../../../db/condition.ts'
import { allRefs } from './content.ts'
import { loadOf } from './reservations/load.ts'
import { reservationsOf } from './reservations/turn-reservations.ts'
import { postUpdated } from './events.ts'
import type { PostData, PostView } from './schemas.ts'
import { released } from './text-origin/release.ts'
import { statusOfPost } from './state.ts'
import { posts, postTargets, type PostRow, type TargetRow } from './tables.ts'
import { postView, type PostFacts } from './views.ts'

/** A post with its targets, in their order. */
export interface LoadedPost {
  readonly post: PostFacts
  readonly targets: readonly TargetRow[]
}

/** Reads and writes posts. Only turns write, so the stored view always fits the rows. */

/** @throws AppError not_found */
export async function loadPost(sql: Sql, id: string): Promise<LoadedPost> {
  const post = await posts.first(sql, { id, deletedAt: null })
  if (post === undefined) throw NotFound()
  const targets = await postTargets.find(sql, { postId: id }, { orderBy: ['position asc'] })
  return { post: factsOf(post), targets }
}

/** Posts with their states and targets, deleted ones too, in the order of their times. */
export async function loadPosts(sql: Sql, where: Where<PostRow>): Promise<(LoadedPost & Pick<PostRow, 'status'>)[]> {
  const rows = await posts.find(sql, where, { orderBy: ['scheduledAt asc', 'id asc'] })
  const ids = rows.map(({ id }) => id)
  const targets =
    ids.length === 0 ? [] : await postTargets.find(sql, { postId: anyOf(ids) }, { orderBy: ['position asc'] })
  const ofPost = Map.groupBy(targets, ({ postId }) => postId)
  return rows.map((row) => ({ post: factsOf(row), status: row.status, targets: ofPost.get(row.id) ?? [] }))
}

/** The post of a target; undefined if it is gone. */
export async function loadTarget(
  sql: Sql,
  targetId: string,
): Promise<(LoadedPost & { readonly target: TargetRow }) | undefined> {
  const found = await postTargets.first(sql, { id: targetId }, { columns: ['postId'] })
  if (found === undefined) return undefined
  const post = await posts.first(sql, { id: found.postId })
  const targets = await postTargets.find(sql, { postId: found.postId }, { orderBy: ['position asc'] })
  const target = targets.find(({ id }) => id === targetId)
  return post === undefined || target === undefined ? undefined : { post: factsOf(post), targets, target }
}

/** Inserts a post whose targets `newTarget` has made. @returns its view, which the event has as well */
export function insertPost(turn: Turn, made: LoadedPost, created: EventType<typeof PostView>): PostData {
  const { post, targets } = made
  const row = rowOf(post, targets)
  reservationsOf(turn).change([], targets)
  turn.insert(posts, row)
  for (const target of targets) turn.insert(postTargets, target)
  turn.emit(created, row.view)
  return row.view
}

/**
 * Writes the changes of a post and its targets. Targets that are missing in `after` are deleted.
 * @returns the new view
 * @throws AppError model_text_not_released
 */
export async function savePost(turn: Turn, before: LoadedPost, changed: LoadedPost): Promise<PostData> {
  const after = await released(turn, withLoads(changed, before))
  reservationsOf(turn).change(before.targets, after.targets)
  const old = new Map(before.targets.map((target) => [target.id, target]))
  const { id, ...row } = rowOf(after.post, after.targets)
  // Sent together, so that they share a round trip.
  await Promise.all([
    ...after.targets.map((target) => {
      const known = old.get(target.id)
      old.delete(target.id)
      return known === undefined ? postTargets.insert(turn.sql, target) : updateTarget(turn.sql, known, target)
    }),
    old.size > 0 && postTargets.delete(turn.sql, { id: anyOf([...old.keys()]) }),
    posts.update(turn.sql, { id }, row),
  ])
  turn.emit(postUpdated, row.view)
  return row.view
}

async function updateTarget(sql: Sql, old: TargetRow, next: TargetRow): Promise<void> {
  const changes = old === next ? undefined : changesOf(old, next)
  if (changes !== undefined) await postTargets.update(sql, { id: next.id }, changes)
}

/** Marks a post as deleted. */
export async function deletePost(turn: Turn, { post, targets }: LoadedPost, deletedAt: string): Promise<void> {
  reservationsOf(turn).change(targets, [])
  await posts.update(turn.sql, { id: post.id }, { deletedAt })
}

/** Targets with what they take of the budgets of their accounts, where the content has changed. */
function withLoads({ post, targets }: LoadedPost, before: LoadedPost): LoadedPost {
  const isSame = before.post.body === post.body
  const overrides = new Map(before.targets.map(({ id, override }) => [id, override]))
  const loaded = targets.map((target) => {
    if (isSame && overrides.get(target.id) === target.override) return target
    return { ...target, ...loadOf(post.body, target.override, target.platform) }
  })
  return { post, targets: loaded }
}

/** The row of a post, with the columns that follow from the content and the targets. */
function rowOf(post: PostFacts, targets: readonly TargetRow[]): PostRow {
  const status = statusOfPost(targets.map((target) => target.status))
  const { body, labels } = post
  const overrides = targets.map(({ override }) => override)
  const texts = [
    body.title,
    body.content,
    ...body.thread.map(({ content }) => content),
    body.firstComment,
    ...overrides.flatMap((override) => [override?.title, override?.content]),
    ...labels,
  ]
  const approval = approvalOf(post, targets)
  return {
    ...post,
    approval,
    status,
    platforms: [...new Set(targets.map(({ platform }) => platform))],
    accountIds: targets.map(({ accountId }) => accountId),
    assetIds: [...new Set(allRefs(body, overrides).map(({ assetId }) => assetId))],
    searchText: texts.filter((text) => text != null && text !== '').join('\n'),
    view: postView({ ...post, approval, status }, targets),
  }
}

/** An approval ends when nothing of its post waits for it any more, for instance because the post was cancelled. */
function approvalOf(post: PostFacts, targets: readonly TargetRow[]): PostFacts['approval'] {
  const { approval } = post
  if (approval === null || (approval.status !== 'open' && approval.status !== 'ready')) return approval
  if (targets.some(({ status }) => status === 'in_review' || status === 'ready')) {
    return approval.status === 'open' ? { ...approval, version: post.version } : approval
  }
  const ended = { stage: null, stageName: null, approverIds: [], isFallback: false, deadlineAt: null }
  return { ...approval, ...ended, status: 'withdrawn', message: 'Nothing of the post waits for approval any more.' }
}

function factsOf(row: PostRow): PostFacts {
  const { accountIds: _a, assetIds: _b, platforms: _c, searchText: _d, status: _e, view: _f, ...facts } = row
  return facts
}

/** The columns that differ. Values of rows are plain JSON, so equal ones have equal text. */
function changesOf(old: TargetRow, next: TargetRow): Partial<TargetRow> | undefined {
  const changed = Object.entries(next).filter(
    ([key, value]) => JSON.stringify(old[key as keyof TargetRow]) !== JSON.stringify(value),
  )
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}
