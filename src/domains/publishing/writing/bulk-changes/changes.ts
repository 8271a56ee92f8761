import { DAY, type Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import { Conflict, Forbidden, NotFound } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import { query } from '../../../../db/query.ts'
import { type PostData, loadPosts, type LoadedPost } from '../../posts/index.ts'
import { problemOf } from '../validation.ts'
import type { PostRestorer } from './restorer.ts'
import type { BulkChangeData, BulkChangeReplyData, ChangedPostData } from './schemas.ts'
import { beforeOf } from './stamp.ts'
import { postBulkChanges, type BulkAction, type BulkChangeRow } from './tables.ts'

/** How long a bulk change can be undone. */
export const UNDO_MS = DAY

/** How long a change is kept. */
const KEPT_MS = 7 * DAY
const BATCH = 500

const purge = query({ postBulkChanges }, (db, $: { before: string }) =>
  db
    .deleteFrom('postBulkChanges')
    .where('id', 'in', (e) =>
      e.selectFrom('postBulkChanges').select('id').where('createdAt', '<', $.before).orderBy('createdAt').limit(BATCH),
    ),
)

/** What one post became. */
export interface Changed {
  readonly post: PostData
  /** What it waits for. */
  readonly note?: string | undefined
}

export interface BulkRequest {
  readonly action: BulkAction
  readonly ids: readonly string[]
  readonly userId: string
  readonly dryRun: boolean
  /** The order in which posts are changed; that of the ids by default. */
  readonly order?: (one: LoadedPost, other: LoadedPost) => number
}

export interface UndoRequest {
  readonly userId: string
  /** What the user may undo. */
  readonly actions: readonly BulkAction[]
}

const LISTED = [
  'id',
  'workspaceId',
  'action',
  'changedCount',
  'createdBy',
  'undoneAt',
  'createdAt',
  'updatedAt',
] as const

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly restorer: PostRestorer
}

/**
 * Changes many posts in one turn. Each post is changed or refused by itself, with what the operation for one post would do.
 * What was changed can be undone as a whole.
 */
export class BulkChanges {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #restorer: PostRestorer

  constructor({ clock, restorer, sql }: Needs) {
    this.#sql = sql
    this.#clock = clock
    this.#restorer = restorer
  }

  /** @param change changes one post; undefined if there is nothing to change. An AppError refuses the post */
  async run(
    turn: Turn,
    request: BulkRequest,
    change: (id: string) => Promise<Changed | undefined>,
  ): Promise<BulkChangeReplyData> {
    return turn.attempt(() => this.#run(turn, request, change), { undo: request.dryRun })
  }

  /** Deletes changes that can no longer be undone, after a week. @returns how many */
  async purge(signal: AbortSignal): Promise<number> {
    const before = new Date(this.#clock.now() - KEPT_MS).toISOString()
    let purged = 0
    for (;;) {
      const deleted = await purge.run(this.#sql, { before })
      purged += deleted
      if (deleted < BATCH || signal.aborted) return purged
    }
  }

  /** A page of the changes of a workspace, newest first. */
  async list(workspaceId: string, page: PageRequest): Promise<PageResult<BulkChangeData>> {
    const rows = await postBulkChanges.page(this.#sql, { workspaceId }, page, LISTED)
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), viewOf)
  }

  /**
   * Restores the posts of a change. A post that has changed since is refused, and so is one that cannot have its earlier
   * time any more.
   * @throws AppError not_found, forbidden, conflict
   */
  async undo(turn: Turn, changeId: string, { actions, userId }: UndoRequest): Promise<BulkChangeReplyData> {
    const row = await postBulkChanges.first(turn.sql, { id: changeId })
    if (row === undefined || !actions.includes(row.action)) throw NotFound()
    if (row.createdBy !== userId) throw Forbidden({ message: 'Only the person who made this change can undo it.' })
    if (row.undoneAt !== null) throw Conflict({ message: 'This change was undone already.' })
    const now = this.#clock.now()
    if (Date.parse(row.createdAt) + UNDO_MS < now) {
      throw Conflict({ message: 'This change was made more than a day ago, so it cannot be undone together.' })
    }
    const found = await foundIn(
      turn,
      row.before.map(({ postId }) => postId),
    )
    const results: ChangedPostData[] = []
    for (const before of row.before) {
      const loaded = found.get(before.postId)
      const restore = async () => {
        if (loaded === undefined) throw NotFound()
        return { post: await this.#restorer.restore(turn, loaded, before, { since: row.createdAt, userId }) }
      }
      results.push(await judged(turn, before.postId, loaded, restore))
    }
    const changedCount = results.filter(({ outcome }) => outcome === 'changed').length
    const at = new Date(now).toISOString()
    // A change of which nothing could be restored can be undone later.
    if (changedCount > 0) await postBulkChanges.update(turn.sql, { id: changeId }, { undoneAt: at, updatedAt: at })
    turn.audit({ kind: 'post_bulk_change', id: changeId, details: { changedCount } })
    return replyOf(null, results)
  }

  async #run(
    turn: Turn,
    { action, dryRun, ids, order, userId }: BulkRequest,
    change: (id: string) => Promise<Changed | undefined>,
  ): Promise<BulkChangeReplyData> {
    const found = await foundIn(turn, ids)
    const results = new Map<string, ChangedPostData>()
    for (const id of inOrder(ids, found, order)) {
      const loaded = found.get(id)
      const changed = async () => {
        if (loaded === undefined) throw NotFound()
        return change(id)
      }
      results.set(id, await judged(turn, id, loaded, changed))
    }
    const all = ids.flatMap((id) => results.get(id) ?? [])
    const changedIds = all.flatMap(({ outcome, postId }) => (outcome === 'changed' ? postId : []))
    if (dryRun || changedIds.length === 0) return replyOf(null, all)
    const after = await foundIn(turn, changedIds)
    const changeId = uuidv7(this.#clock.now())
    const at = new Date(this.#clock.now()).toISOString()
    turn.insert(postBulkChanges, {
      id: changeId,
      workspaceId: turn.workspaceId,
      action,
      changedCount: changedIds.length,
      before: changedIds.flatMap((id) => {
        const [old, now] = [found.get(id), after.get(id)]
        return old === undefined || now === undefined ? [] : beforeOf(old, now)
      }),
      createdBy: userId,
      undoneAt: null,
      createdAt: at,
      updatedAt: at,
    })
    turn.audit({ kind: 'post_bulk_change', id: changeId, details: { action, changedCount: changedIds.length } })
    return replyOf(changeId, all)
  }
}

/** The posts of the workspace of the turn, by id. */
async function foundIn(turn: Turn, ids: readonly string[]): Promise<ReadonlyMap<string, LoadedPost>> {
  if (ids.length === 0) return new Map()
  const where = { id: anyOf([...ids]), workspaceId: turn.workspaceId, deletedAt: null }
  const posts = await loadPosts(turn.sql, where)
  return new Map(posts.map((loaded) => [loaded.post.id, loaded]))
}

function inOrder(
  ids: readonly string[],
  found: ReadonlyMap<string, LoadedPost>,
  order: BulkRequest['order'],
): readonly string[] {
  if (order === undefined) return ids
  const known = ids.flatMap((id) => found.get(id) ?? []).sort(order)
  return [...known.map(({ post }) => post.id), ...ids.filter((id) => !found.has(id))]
}

/** The result of a change of one post. A refusal undoes what the change has done so far. */
async function judged(
  turn: Turn,
  postId: string,
  before: LoadedPost | undefined,
  change: () => Promise<Changed | undefined>,
): Promise<ChangedPostData> {
  try {
    const changed = await turn.attempt(change)
    if (changed === undefined) return { ...stateOf(postId, before), outcome: 'unchanged', note: null, refusal: null }
    const { note = null, post } = changed
    const { approval, localTime, scheduledFor, status, timezone } = post
    const contentHash = approval?.contentHash ?? null
    return { postId, outcome: 'changed', status, scheduledFor, localTime, timezone, contentHash, note, refusal: null }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...stateOf(postId, before), outcome: 'refused', note: null, refusal: problemOf(error) }
  }
}

function stateOf(postId: string, loaded: (LoadedPost & { readonly status?: PostData['status'] }) | undefined) {
  const { approval, localTime = null, scheduledAt = null, timeZone = null } = loaded?.post ?? {}
  return {
    postId,
    status: loaded?.status ?? null,
    scheduledFor: scheduledAt,
    localTime,
    timezone: timeZone,
    contentHash: approval?.contentHash ?? null,
  }
}

function replyOf(changeId: string | null, results: readonly ChangedPostData[]): BulkChangeReplyData {
  const count = (wanted: ChangedPostData['outcome']) => results.filter(({ outcome }) => outcome === wanted).length
  return { changeId, changedCount: count('changed'), refusedCount: count('refused'), results: [...results] }
}

function viewOf({
  action,
  changedCount,
  createdAt,
  createdBy,
  id,
  undoneAt,
  updatedAt,
  workspaceId,
}: Omit<BulkChangeRow, 'before'>): BulkChangeData {
  const undoUntil = new Date(Date.parse(createdAt) + UNDO_MS).toISOString()
  return { _id: id, workspaceId, action, changedCount, createdBy, undoUntil, undoneAt, createdAt, updatedAt }
}
