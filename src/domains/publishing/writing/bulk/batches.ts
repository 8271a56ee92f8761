import { sql as raw } from 'kysely'
import type { Clock } from '../../../../core/clock.ts'
import { Conflict, NotFound } from '../../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Static } from '../../../../core/schema.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import { query } from '../../../../db/query.ts'
import { postDeleted, canAct, reservationsOf, type TargetStatus, posts, postTargets } from '../../posts/index.ts'
import type { BatchData, BatchWithPosts, UndoneBatch } from './schemas.ts'
import { postBatches, type BatchRow } from './tables.ts'

/** Targets in these states keep their post when its batch is deleted. */
const KEPT: readonly TargetStatus[] = ['publishing', 'published', 'partial', 'unconfirmed']

const countsOf = query({ posts }, (db, $: { batchIds: readonly string[] }) =>
  db
    .selectFrom('posts')
    .select((e) => ['batchId', 'status', e.fn.countAll<number>().as('count')])
    .where('batchId', '=', raw<string>`any(${$.batchIds}::uuid[])`)
    .where('deletedAt', 'is', null)
    .groupBy(['batchId', 'status'])
    .orderBy('status'),
)

/** The batches of bulk requests. */
export class PostBatches {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** A page of batches, newest first. */
  async list(workspaceId: string, page: PageRequest): Promise<PageResult<BatchData>> {
    const rows = await postBatches.page(this.#sql, { workspaceId }, page)
    const counts = await countsOf.rows(this.#sql, { batchIds: rows.map(({ id }) => id) })
    const key = ({ createdAt, id }: BatchRow) => ({ createdAt, id })
    return pageOf(rows, page.limit, key, (row) => {
      const own = counts.filter(({ batchId }) => batchId === row.id)
      return { ...viewOf(row), postCounts: own.map(({ count, status }) => ({ status, count })) }
    })
  }

  /** A batch with its posts in the order of their times. @throws AppError not_found */
  async get(id: string): Promise<Static<typeof BatchWithPosts>> {
    const row = await postBatches.first(this.#sql, { id })
    if (row === undefined) throw NotFound()
    const found = await posts.find(
      this.#sql,
      { batchId: id, deletedAt: null },
      { columns: ['id', 'view', 'scheduledAt'], orderBy: ['scheduledAt asc', 'id asc'] },
    )
    return { ...viewOf(row), posts: found.map(({ view }) => view) }
  }

  /** Deletes the posts of a batch that are not published. @throws AppError not_found, conflict */
  async undo(turn: Turn, id: string): Promise<Static<typeof UndoneBatch>> {
    const row = await postBatches.first(turn.sql, { id })
    if (row === undefined) throw NotFound()
    if (row.undoneAt !== null) throw Conflict({ message: 'The posts of this batch were deleted already.' })
    const found = await posts.find(turn.sql, { batchId: id, deletedAt: null }, { columns: ['id', 'status'] })
    const targets = await postTargets.find(turn.sql, { postId: anyOf(found.map((post) => post.id)) })
    const isKept = (target: (typeof targets)[number]) => KEPT.includes(target.status) || !canAct(target, 'delete')
    const keptIds = new Set(targets.filter((target) => isKept(target)).map(({ postId }) => postId))
    const deleted = found.filter((post) => !keptIds.has(post.id)).map((post) => post.id)
    const at = new Date(this.#clock.now()).toISOString()
    const gone = new Set(deleted)
    reservationsOf(turn).change(
      targets.filter(({ postId }) => gone.has(postId)),
      [],
    )
    await posts.update(turn.sql, { id: anyOf(deleted) }, { deletedAt: at })
    await postBatches.update(turn.sql, { id }, { undoneAt: at, updatedAt: at })
    for (const postId of deleted) turn.emit(postDeleted, { postId })
    turn.audit({ kind: 'post_batch', id, details: { deletedCount: deleted.length, keptCount: keptIds.size } })
    const kept = found.filter((post) => keptIds.has(post.id))
    return { deletedCount: deleted.length, kept: kept.map((post) => ({ postId: post.id, status: post.status })) }
  }
}

function viewOf({ createdAt, createdBy, createdCount, id, rowCount, undoneAt, updatedAt, workspaceId }: BatchRow) {
  return { _id: id, workspaceId, rowCount, createdCount, createdBy, undoneAt, createdAt, updatedAt }
}
