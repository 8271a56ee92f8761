import type { Clock } from '../../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Static } from '../../../../core/schema.ts'
import type { Sql } from '../../../../core/sql.ts'
import { anyOf, oneOf } from '../../../../db/condition.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { occurrences, parseRecurrence, type RecurrenceInput, type Outcome } from '../../calendar/index.ts'
import { loadPosts } from '../../posts/index.ts'
import { plannedTime, type PlannedTime } from '../../planning/index.ts'
import { SeriesDates } from './dates.ts'
import type { PreviewedOccurrences, RecurrencePreviewInput, SeriesData, SeriesSummaryData } from './schemas.ts'
import { postSeries, type SeriesRow, type SeriesStatus } from './tables.ts'
import { isEdited } from './template.ts'
import { occurrenceView, summaryOf } from './views.ts'

/** How many occurrences a series shows. */
const UPCOMING = 20
const PREVIEWED = 20

/** Reads series. */
export class SeriesReader {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** A page of series, newest first. */
  async list(
    { status, workspaceId }: { workspaceId: string; status?: readonly SeriesStatus[] | undefined },
    page: PageRequest,
  ): Promise<PageResult<SeriesSummaryData>> {
    const rows = await postSeries.page(
      this.#sql,
      { workspaceId, ...(status !== undefined && { status: oneOf(status) }) },
      page,
    )
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), summaryOf)
  }

  /** @throws AppError not_found */
  async get(id: string): Promise<SeriesData> {
    const row = await postSeries.first(this.#sql, { id })
    if (row === undefined) throw NotFound()
    return this.view(this.#sql, row)
  }

  /** A series with its next occurrences. */
  async view(sql: Sql, row: SeriesRow): Promise<SeriesData> {
    const next = new SeriesDates(row).after(this.#clock.now(), UPCOMING)
    const loaded = await loadPosts(sql, { seriesId: row.id, occurrence: anyOf(next.map(({ key }) => key)) })
    const byKey = new Map(loaded.map((one) => [one.post.occurrence, one]))
    const upcoming = next.flatMap((one) => {
      const post = byKey.get(one.key)
      // A post that was deleted by itself is left out like a date that is skipped.
      if (post?.post.deletedAt != null || (post === undefined && row.status === 'ended')) return []
      const { scheduledAt, timeZone, localTime } = post?.post ?? {}
      const moved = post !== undefined && scheduledAt != null && localTime !== one.key
      const time = moved ? { scheduledFor: scheduledAt, localTime: localTime ?? '', timezone: timeZone ?? '' } : {}
      return [
        {
          ...occurrenceView(one),
          ...time,
          postId: post?.post.id ?? null,
          status: post?.status ?? null,
          isEdited: post !== undefined && isEdited(post, row.template),
        },
      ]
    })
    return { ...summaryOf(row), upcoming }
  }

  /** The next occurrences of a rule that is not stored. @throws AppError validation_failed */
  async preview(input: RecurrencePreviewInput): Promise<Static<typeof PreviewedOccurrences>> {
    const zone = input.timezone ?? (await timeZoneOf(this.#sql, input.workspaceId))
    const recurrence = recurrenceOf(input.recurrence, plannedTime(input.scheduledFor, zone))
    const { ended, occurrences: found } = occurrences(recurrence, { limit: input.count ?? PREVIEWED })
    return { occurrences: found.map(occurrenceView), ended }
  }
}

/** Reads the rule of a request. @throws AppError validation_failed */
export function recurrenceOf(input: RecurrenceInput, time: Pick<PlannedTime, 'localTime' | 'timeZone'>) {
  return required(parseRecurrence(input, { wallClock: time.localTime, timezone: time.timeZone }))
}

function required<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value
  const { code, field, message } = outcome.problem
  const path = ['scheduledFor', 'timezone'].includes(field) ? `/body/${field}` : `/body/recurrence/${field}`
  throw ValidationFailed({ errors: [{ path, code, message }] })
}
