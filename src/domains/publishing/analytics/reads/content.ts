import { sql as raw } from 'kysely'
import type { Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import { isTimestamp } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import { readSortedCursor, writeSortedCursor } from '../../../../core/sorted-cursor.ts'
import type { Sql } from '../../../../core/sql.ts'
import { isOneOf, query, values, type Values } from '../../../../db/query.ts'
import { columnName } from '../../../../db/naming.ts'
import { targetsOf } from '../../posts/index.ts'
import { CONTENT_FIGURES, ENGAGEMENTS } from '../figures.ts'
import { SORTS, type ContentFilter, type ContentRecordData } from '../content-schemas.ts'
import type { GapView } from '../schemas.ts'
import { analyticsContent, type AnalyticsContentRow } from '../tables.ts'
import { engagementsOf, ratio, sumOf } from './numbers.ts'
import { spanOf, timesOf } from './span.ts'
import { notReported, type WatchedAccount, type WatchedAccounts } from './watched.ts'

type Sort = (typeof SORTS)[number]

interface Filters {
  readonly workspaceId: string
  readonly from: string
  readonly to: string
  readonly limit: number
  readonly accountIds?: readonly string[] | undefined
  readonly platform?: Values<string> | undefined
  readonly origin?: Values<string> | undefined
  /** The sort key and the id of the last record of the page before. */
  readonly afterKey?: string | undefined
  readonly afterId?: string | undefined
}

/** What a list is sorted by: text that sorts and compares as the value does. Posts without the figure come last. */
function keyOf(sort: Sort) {
  if (sort === 'publishedAt') return raw<string>`c.published_at`
  const figures = sort === 'engagements' ? ENGAGEMENTS : [sort]
  const columns = figures.map((figure) => raw.ref(`c.${columnName(figure)}`))
  const known = raw.join(
    columns.map((column) => raw`${column} is null`),
    raw` and `,
  )
  const sum = raw.join(
    columns.map((column) => raw`coalesce(${column}, 0)`),
    raw` + `,
  )
  // Corrections can make a figure fall, but no platform reports less than 0.
  return raw<string>`(case when ${known} then -1 else ${sum} end)`
}

function listBy(sort: Sort) {
  const key = keyOf(sort)
  const type = raw.raw(sort === 'publishedAt' ? 'timestamptz' : 'double precision')
  return query({ analyticsContent }, (db, $: Filters) => {
    let found = db
      .selectFrom('analyticsContent as c')
      .select(COLUMNS.map((column) => `c.${column}` as const))
      .select(raw<string | number>`${key}`.as('sortKey'))
      .where('c.workspaceId', '=', $.workspaceId)
      .where('c.deletedAt', 'is', null)
      .where('c.publishedAt', '>=', $.from)
      .where('c.publishedAt', '<', $.to)
    if ($.accountIds !== undefined) found = found.where(raw<boolean>`c.account_id = any(${$.accountIds}::uuid[])`)
    if ($.platform !== undefined) found = found.where(isOneOf('c.platform', $.platform))
    if ($.origin !== undefined) found = found.where(isOneOf('c.origin', $.origin))
    if ($.afterId !== undefined) {
      found = found.where(raw<boolean>`(${key}, c.id) < (${$.afterKey}::${type}, ${$.afterId}::uuid)`)
    }
    return found.orderBy(key, 'desc').orderBy('c.id', 'desc').limit($.limit)
  })
}

const COLUMNS = [
  'id',
  'workspaceId',
  'accountId',
  'platform',
  'origin',
  'postId',
  'targetId',
  'text',
  'url',
  'publishedAt',
  ...CONTENT_FIGURES,
  'collectedAt',
  'nextAt',
  'goneReason',
  'createdAt',
  'updatedAt',
] as const
export type ContentRow = Pick<AnalyticsContentRow, (typeof COLUMNS)[number]>

const LISTS = Object.fromEntries(SORTS.map((sort) => [sort, listBy(sort)])) as Record<Sort, ReturnType<typeof listBy>>

/** The records of posts with their newest figures. */
export class ContentRecords {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #watched: WatchedAccounts

  constructor(sql: Sql, clock: Clock, watched: WatchedAccounts) {
    this.#sql = sql
    this.#clock = clock
    this.#watched = watched
  }

  /** @throws AppError validation_failed, not_found */
  async list(filter: ContentFilter): Promise<PageResult<ContentRecordData>> {
    const { accountIds, cursor, limit = 30, origin, platform, sort = 'publishedAt', workspaceId } = filter
    const { accounts, zone } = await this.#watched.load(workspaceId, accountIds)
    const after = readSortedCursor(cursor, sort, isKeyOf(sort))
    const { end, start } = timesOf(spanOf(filter, zone, this.#clock.now()))
    const rows = await LISTS[sort].rows(this.#sql, {
      workspaceId,
      from: new Date(start).toISOString(),
      to: new Date(end).toISOString(),
      limit: limit + 1,
      // Records of removed accounts are not shown.
      accountIds: accounts.map(({ account }) => account.id),
      platform: values(platform),
      origin: values(origin),
      afterKey: after?.key,
      afterId: after?.id,
    })
    const byId = new Map(accounts.map((account) => [account.account.id, account]))
    const items = rows.slice(0, limit)
    const last = rows.length > limit ? items.at(-1) : undefined
    return {
      items: items.map((row) => recordView(row, byId.get(row.accountId))),
      limit,
      nextCursor: last ? writeSortedCursor(sort, { key: String(last.sortKey), id: last.id }) : null,
    }
  }

  /** @throws AppError not_found */
  async one(id: string): Promise<ContentRecordData> {
    const row = await analyticsContent.first(this.#sql, { id, deletedAt: null })
    if (row === undefined) throw NotFound()
    const { accounts } = await this.#watched.load(row.workspaceId)
    const watched = accounts.find(({ account }) => account.id === row.accountId)
    if (watched === undefined) throw NotFound()
    return recordView(row, watched)
  }

  /** A post at each of its platforms. */
  async ofPost(workspaceId: string, postId: string) {
    const [targets, records, { accounts }] = await Promise.all([
      targetsOf(this.#sql, postId),
      analyticsContent.find(this.#sql, { postId, deletedAt: null }),
      this.#watched.load(workspaceId),
    ])
    if (targets.length === 0) throw NotFound()
    const byTarget = new Map(records.map((record) => [record.targetId, record]))
    const shown = targets.map(({ accountId, id: targetId, platform, publishedAt, status }) => {
      const watched = accounts.find(({ account }) => account.id === accountId)
      const row = byTarget.get(targetId)
      const contentRecord = row === undefined || watched === undefined ? null : recordView(row, watched)
      return {
        targetId,
        accountId,
        platform,
        status,
        contentRecord,
        gap: contentRecord === null ? noRecord(publishedAt, watched) : null,
      }
    })
    return {
      postId,
      targets: shown,
      totals: CONTENT_FIGURES.map((figure) => {
        const values = shown.map(
          ({ contentRecord }) => contentRecord?.figures.find((one) => one.figure === figure)?.value,
        )
        return { figure, value: sumOf(values), targetCount: values.filter((one) => one != null).length }
      }),
    }
  }
}

function noRecord(publishedAt: string | null, watched: WatchedAccount | undefined): GapView {
  if (watched === undefined) return { code: 'not_connected', message: 'The account was removed.' }
  if (publishedAt === null) return { code: 'future', message: 'It is not published.' }
  return { code: 'not_collected', message: 'The platform has not been asked for it yet, or its record was deleted.' }
}

/** How a reply shows a record. */
export function recordView(row: ContentRow, watched: WatchedAccount | undefined): ContentRecordData {
  const engagements = engagementsOf((figure) => row[figure as (typeof CONTENT_FIGURES)[number]])
  return {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    accountId: row.accountId,
    platform: row.platform,
    accountName: watched?.account.name ?? '',
    origin: row.origin,
    postId: row.postId,
    targetId: row.targetId,
    text: row.text,
    url: row.url,
    publishedAt: row.publishedAt,
    figures: CONTENT_FIGURES.map((figure) => ({
      figure,
      value: row[figure],
      gap: row[figure] === null ? figureGap(row, watched, figure) : null,
    })),
    engagements,
    engagementRateByReach: ratio(engagements, row.reach),
    collectedAt: row.collectedAt,
    nextCollectionAt: row.nextAt,
    goneReason: row.goneReason,
  }
}

function figureGap(
  { collectedAt, goneReason }: ContentRow,
  watched: WatchedAccount | undefined,
  figure: (typeof CONTENT_FIGURES)[number],
): GapView {
  const missing = watched && notReported(watched, figure)
  if (missing !== undefined) return missing
  if (goneReason !== null) return { code: 'refused', message: goneReason }
  if (collectedAt === null) return { code: 'not_collected', message: 'The platform has not been asked for it yet.' }
  return { code: 'not_reported', message: 'The platform did not report this figure of the post.' }
}

function isKeyOf(sort: Sort): (key: string) => boolean {
  return sort === 'publishedAt' ? isTimestamp : (key) => /^-?\d{1,18}(\.\d{1,12})?$/.test(key)
}
