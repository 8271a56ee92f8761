import type { Clock } from '../../../../core/clock.ts'
import { findPostView } from '../../posts/index.ts'
import type { ReportBranding } from '../branding/branding.ts'
import { acceptedLanguage } from '../../../../language/accepted.ts'
import { findReaders } from '../../../identity/users/index.ts'
import { findNames } from '../../../workspace/workspaces/index.ts'
import type { Member } from '../../../../core/caller.ts'
import type { Scope } from '../../../../core/scope.ts'
import type { Sql } from '../../../../core/sql.ts'
import { RawBody, reply } from '../../../../core/reply.ts'
import type { ContentRecordData } from '../content-schemas.ts'
import { ENGAGEMENTS } from '../figures.ts'
import type { ContentRecords } from '../reads/content.ts'
import type { AccountAudiences } from '../reads/audience.ts'
import type { AnalyticsTimeSeries } from '../reads/series.ts'
import { bucketsOf, spanOf, timesOf, type Interval, type Span } from '../reads/span.ts'
import type { PlatformStatistics } from '../reads/stats.ts'
import type { WatchedAccounts } from '../reads/watched.ts'
import type { ReportFilter, ReportRequest } from '../schemas.ts'
import type { Foundation } from '../../../../foundation.ts'
import { importedPictures } from './pictures.ts'
import { modelOf } from './content.ts'
import { reportLanguage, reportWords, type ReportLanguageName, type ReportWords } from './language.ts'
import type { ReportModel } from './model.ts'
import type { ReportPrinter } from './printer.ts'
import { boundsOf, dayText } from '../storage/zone-days.ts'
import { ReportSections } from './sections.ts'

const MAX_POSTS = 10
/** Points of a chart. Longer spans are shown by week. */
const MAX_DAILY = 62

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly stats: PlatformStatistics
  readonly series: AnalyticsTimeSeries
  readonly content: ContentRecords
  readonly audiences: AccountAudiences
  readonly watched: WatchedAccounts
  readonly branding: ReportBranding
  readonly printer: ReportPrinter
  readonly storage: Foundation['storage']
}

/** Reports for people who do not use Crier: the same content as a page and as a PDF. */
export class Reports {
  /** What other domains add. */
  readonly sections = new ReportSections()
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * @param accepted the Accept-Language header
   * @throws AppError validation_failed, not_found
   */
  async html(filter: ReportRequest, member: Member, accepted: string | undefined) {
    const model = await this.model(filter, member.scopes, await this.#languageOf(filter, member, accepted))
    const body = new RawBody('text/html; charset=utf-8', await this.#needs.printer.html(model))
    return reply(200, body, headersOf(model, 'html'))
  }

  /**
   * @param accepted the Accept-Language header
   * @throws AppError validation_failed, not_found
   */
  async pdf(filter: ReportRequest, member: Member, accepted: string | undefined) {
    const model = await this.model(filter, member.scopes, await this.#languageOf(filter, member, accepted))
    return reply(200, new RawBody('application/pdf', await this.#needs.printer.pdf(model)), headersOf(model, 'pdf'))
  }

  /** The days that a report would be about. @throws AppError validation_failed, not_found */
  async daysOf({ accountIds, from, to, workspaceId }: ReportFilter): Promise<{ from: string; to: string }> {
    const { zone } = await this.#needs.watched.load(workspaceId, accountIds)
    const asked = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
    const { first, last } = spanOf(asked, zone, this.#needs.clock.now())
    return { from: dayText(first), to: dayText(last) }
  }

  /** The file of a report. @throws AppError not_found */
  print(model: ReportModel, format: 'pdf' | 'html'): Promise<Buffer | string> {
    return format === 'pdf' ? this.#needs.printer.pdf(model) : this.#needs.printer.html(model)
  }

  /** What a report says to a reader with these scopes. */
  async model(
    { accountIds, from, to, workspaceId }: ReportFilter,
    scopes: ReadonlySet<Scope>,
    language: ReportLanguageName,
  ): Promise<ReportModel> {
    const words = reportWords(language)
    const { audiences, branding, clock, content, series, sql, stats } = this.#needs
    const asked = {
      workspaceId,
      ...(accountIds && { accountIds }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    }
    const figures = await stats.of({ ...asked, compare: true })
    const interval = figures.span.dayCount > MAX_DAILY ? 'week' : 'day'
    const span = { from: figures.span.from, to: figures.span.to }
    const days = spanOf(span, figures.timezone, clock.now())
    const [followers, engagements, posts, names, audience, parts] = await Promise.all([
      series.followers({ ...asked, ...span, interval }),
      Promise.all(
        ENGAGEMENTS.map(async (figure) => ({
          figure,
          accounts: (await series.ofAccounts({ ...asked, ...span, figure, interval })).accounts,
        })),
      ),
      content.list({ ...asked, ...span, sort: 'engagements', limit: MAX_POSTS }),
      findNames(sql, [workspaceId]),
      audiences.of({ workspaceId, ...(accountIds && { accountIds }) }),
      this.sections.make(
        { workspaceId, zone: figures.timezone, words, ...timesOf(days), buckets: labelled(days, interval, words) },
        scopes,
      ),
    ])
    const top = posts.items.filter((post) => post.engagements !== null)
    const [brand, pictures] = await Promise.all([branding.brandOf(workspaceId), this.#pictures(workspaceId, top)])
    return modelOf(
      {
        workspace: names.get(workspaceId) ?? '',
        createdAt: new Date(clock.now()).toISOString(),
        interval,
        figures,
        followers: followers.accounts,
        engagements,
        audience,
        posts: top.map((post) => ({ ...post, picture: pictures.get(post._id) ?? null })),
        parts,
        brand,
      },
      words,
    )
  }

  async #languageOf(
    { language }: ReportRequest,
    { userId }: Member,
    accepted: string | undefined,
  ): Promise<ReportLanguageName> {
    if (language !== undefined) return language
    const [reader] = await findReaders(this.#needs.sql, [userId])
    return reportLanguage(acceptedLanguage(accepted, reader?.language ?? 'en'))
  }

  /** Small pictures of posts by record: those of files that Crier has published, and those of imported posts. */
  async #pictures(workspaceId: string, records: readonly ContentRecordData[]): Promise<ReadonlyMap<string, string>> {
    const assets = new Map<string, string>()
    for (const { _id, postId } of records) {
      const post = postId === null ? undefined : await findPostView(this.#needs.sql, postId)
      const assetId = post?.media[0]?.assetId
      if (assetId !== undefined) assets.set(_id, assetId)
    }
    const found = await this.#needs.branding.thumbnails(workspaceId, [...assets.values()])
    const pictures = new Map(
      [...assets].flatMap(([id, assetId]) => {
        const picture = found.get(assetId)
        return picture === undefined ? [] : [[id, picture] as const]
      }),
    )
    const others = records.map(({ _id }) => _id).filter((id) => !pictures.has(id))
    for (const [id, picture] of await importedPictures(this.#needs, workspaceId, others)) pictures.set(id, picture)
    return pictures
  }
}

function labelled(span: Span, interval: Interval, { day }: ReportWords) {
  return bucketsOf(span, interval).map(({ first, last }) => ({
    label: day(dayText(first)),
    start: boundsOf(first, span.zone).start,
    end: boundsOf(last, span.zone).end,
  }))
}

function headersOf({ from, language, to }: ReportModel, extension: string) {
  return {
    'Content-Disposition': `attachment; filename="report-${from}-${to}.${extension}"`,
    'Cache-Control': 'private',
    'Content-Language': language,
    Vary: 'Accept-Language',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  }
}
