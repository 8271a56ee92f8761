import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { secretToken, sha256, uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { TooManyCalendarFeeds } from './errors.ts'
import type { FeedData, NewFeedData } from './schemas.ts'
import { calendarFeeds, type FeedRow } from './tables.ts'

const MAX_LINKS = 20

/** The links of members to the calendar of a workspace. Tokens are stored as hashes. */
export class FeedLinks {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #publicUrl: string

  constructor(sql: Sql, clock: Clock, publicUrl: string) {
    this.#sql = sql
    this.#clock = clock
    this.#publicUrl = publicUrl
  }

  /** @returns the link, whose token is not stored. @throws AppError too_many_calendar_feeds */
  async create(turn: Turn, { name }: NewFeedData, userId: string): Promise<{ feed: FeedData; url: string }> {
    const { sql, workspaceId } = turn
    if ((await calendarFeeds.count(sql, { workspaceId, userId })) >= MAX_LINKS) throw TooManyCalendarFeeds()
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const token = secretToken()
    const row: FeedRow = {
      id: uuidv7(now),
      workspaceId,
      userId,
      name,
      tokenHash: sha256(token),
      createdAt: at,
      updatedAt: at,
    }
    await calendarFeeds.insert(sql, row)
    turn.audit({ kind: 'calendar_feed', id: row.id, details: { name } })
    return { feed: feedView(row), url: `${this.#publicUrl}/api/calendar-feeds/${token}.ics` }
  }

  /** Newest first. */
  async list(whose: { workspaceId: string; userId: string }, page: PageRequest): Promise<PageResult<FeedData>> {
    const rows = await calendarFeeds.page(this.#sql, whose, page)
    return pageOf(rows, page.limit, (row) => row, feedView)
  }

  /** @throws AppError not_found, also for the link of another member */
  async revoke(turn: Turn, { id, userId }: { id: string; userId: string }): Promise<void> {
    const { sql, workspaceId } = turn
    if ((await calendarFeeds.delete(sql, { id, workspaceId, userId })) === 0) throw NotFound()
    turn.audit({ kind: 'calendar_feed', id })
  }

  /** The link with a token. */
  find(token: string): Promise<FeedRow | undefined> {
    return calendarFeeds.first(this.#sql, { tokenHash: sha256(token) })
  }
}

function feedView({ createdAt, id, name, updatedAt, workspaceId }: FeedRow): FeedData {
  return { _id: id, createdAt, updatedAt, workspaceId, name }
}
