import { NotFound } from '../../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../../core/precondition.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { findActors, type Actor } from '../actors.ts'
import type { PostAuthor } from '../author.ts'
import { changesOf } from '../changes/post-changes.ts'
import type { PostSnapshot as ComparedSnapshot } from '../changes/snapshot.ts'
import type { PostChangeInput, PostData } from '../schemas.ts'
import { loadPost, type LoadedPost } from '../store.ts'
import { posts, postVersions, type PostSnapshot, type VersionRow } from '../tables.ts'
import type { PostVersionData } from './schemas.ts'

/** The versions of posts. */
export class PostHistory {
  readonly #sql: Sql
  readonly #author: PostAuthor

  constructor(sql: Sql, author: PostAuthor) {
    this.#sql = sql
    this.#author = author
  }

  /** The versions of a post, newest first, each compared with the one before. @throws AppError not_found */
  async list(postId: string, page: PageRequest): Promise<PageResult<PostVersionData>> {
    if (!(await posts.exists(this.#sql, { id: postId, deletedAt: null }))) throw NotFound()
    const rows = await postVersions.page(this.#sql, { postId }, page)
    const actors = await findActors(
      this.#sql,
      rows.map(({ authorId }) => authorId),
    )
    // The page has one row more than it shows, which is the one before the last.
    const before = new Map(rows.slice(1).map((row, index) => [rows[index]?.id, row]))
    return pageOf(
      rows,
      page.limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      (row) => versionView(row, before.get(row.id), actors),
    )
  }

  /**
   * Makes a new version with the content, the labels and the accounts of an earlier one. Times stay as they are, so that
   * restoring a text never publishes a post or takes it from the schedule.
   * @throws AppError not_found, precondition_failed, validation_failed, platform_validation_failed, post_state_conflict
   */
  async restore(
    turn: Turn,
    { id, version }: { id: string; version: string },
    { ifMatch, userId }: { userId: string; ifMatch: IfMatch },
  ): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    requireVersion(ifMatch, before.post.version)
    const wanted = await postVersions.first(
      turn.sql,
      { postId: id, version: Number(version) },
      { columns: ['snapshot'] },
    )
    if (wanted === undefined) throw NotFound({ message: `The post has no version ${version}.` })
    const input = inputOf(wanted.snapshot, before)
    return this.#author.change(turn, before, input, { kind: 'restored', authorId: userId })
  }
}

/** The change that makes a post equal to a snapshot. Accounts of the post keep their own times. */
function inputOf({ targets, ...snapshot }: PostSnapshot, { targets: now }: LoadedPost): PostChangeInput {
  const known = new Map(now.map((target) => [target.accountId, target]))
  const { localTime: _local, scheduledAt: _at, timeZone: _zone, ...content } = snapshot
  const input = {
    ...content,
    targets: targets.map(({ accountId, override }) => {
      const target = known.get(accountId)
      const time = target?.ownTime === true && { scheduledFor: target.scheduledAt, timezone: target.timeZone }
      return { accountId, ...((override !== null || time) && { override: { ...override, ...time } }) }
    }),
  }
  return input as unknown as PostChangeInput
}

function versionView(
  row: VersionRow,
  before: VersionRow | undefined,
  actors: ReadonlyMap<string, Actor>,
): PostVersionData {
  const { localTime, scheduledAt, targets, timeZone, ...snapshot } = row.snapshot
  const view = {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.createdAt,
    version: row.version,
    kind: row.kind,
    actor: actors.get(row.authorId ?? '') ?? null,
    textOrigin: row.textOrigin,
    ...snapshot,
    scheduledFor: scheduledAt,
    localTime,
    timezone: timeZone,
    targets: targets.map(({ accountId, override, scheduledAt: own }) => ({ accountId, override, scheduledFor: own })),
    changes: before === undefined ? null : changesOf(compared(before.snapshot), compared(row.snapshot)),
  }
  return view as unknown as PostVersionData
}

/** A snapshot as the comparison takes it: with the names of the API, and own times in the overrides. */
function compared({ scheduledAt, targets, timeZone, ...snapshot }: PostSnapshot): ComparedSnapshot {
  return {
    ...snapshot,
    scheduledFor: scheduledAt,
    timezone: timeZone,
    targets: targets.map(({ accountId, override, scheduledAt: own }) => ({
      accountId,
      override: { ...override, ...(own !== null && { scheduledFor: own }) },
    })),
  }
}
