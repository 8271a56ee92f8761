import { NotFound } from '../../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../../core/precondition.ts'
import type { PageResult } from '../../../../core/reply.ts'
import { Slices } from '../../../../core/slices.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import {
  findActors,
  type Actor,
  type PostChangeInput,
  type PostData,
  loadPost,
  type LoadedPost,
  posts,
  postVersions,
  type PostSnapshot,
  type VersionRow,
} from '../../posts/index.ts'
import type { PostAuthor } from '../author.ts'
import type { PostChanges } from '../changes/schemas.ts'
import type { PostVersionData } from './schemas.ts'
import { VersionChanges } from './version-changes.ts'

/** Characters of the versions of one page. */
const MAX_PAGE_CHARACTERS = 1_000_000

/** The versions of posts. */
export class PostHistory {
  readonly #sql: Sql
  readonly #author: PostAuthor
  readonly #changes = new VersionChanges()

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
    const limit = shownCount(rows, page.limit)
    const changes = new Map<string, PostChanges>()
    const slices = new Slices()
    // The page has one row more than it shows, which is the one before the last.
    for (const [index, row] of rows.slice(0, limit).entries()) {
      const before = rows[index + 1]
      if (before !== undefined) changes.set(row.id, this.#changes.of(row, before))
      await slices.pause()
    }
    return pageOf(
      rows.slice(0, limit + 1),
      limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      (row) => versionView(row, changes.get(row.id) ?? null, actors),
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
  changes: PostChanges | null,
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
    changes,
  }
  return view as unknown as PostVersionData
}

/**
 * How many of the rows a page shows. It ends early where the texts of long posts would make a reply of many megabytes.
 */
function shownCount(rows: readonly VersionRow[], limit: number): number {
  let size = 0
  const end = rows.findIndex(({ snapshot }, index) => {
    size += JSON.stringify(snapshot).length
    return index > 0 && size > MAX_PAGE_CHARACTERS
  })
  return end === -1 ? limit : Math.min(end, limit)
}
