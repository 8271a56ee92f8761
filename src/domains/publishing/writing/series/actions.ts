import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../../core/precondition.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { PlanService } from '../../../money/plans/index.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import {
  bodyOf,
  overrideOf,
  dryScope,
  type NewPostInput,
  type PostChangeInput,
  type PostCheck,
  type PostData,
  type RecurrenceInputData,
  loadPost,
  savePost,
  type LoadedPost,
} from '../../posts/index.ts'
import { plannedTime, type Resources } from '../../planning/index.ts'
import { problemOf, type PostCaller, type PostValidation } from '../validation.ts'
import type { AuthorSettings } from '../author-settings.ts'
import type { PostAuthor } from '../author.ts'
import { occurrences, type Occurrence } from '../../calendar/index.ts'
import type { PostFile } from '../../../media/assets/index.ts'
import type { PostChecks } from '../checks.ts'
import type { Static } from '../../../../core/schema.ts'
import type { TextOrigins } from '../text-origin/text-origins.ts'
import { SeriesDates } from './dates.ts'
import { recurringPostCreated, recurringPostUpdated } from './events.ts'
import { makeOccurrences } from './jobs.ts'
import { removeOccurrence, removeOccurrences } from './removal.ts'
import { recurrenceOf, type SeriesReader } from './reader.ts'
import type { SeriesData, SeriesEndInput } from './schemas.ts'
import { postSeries, type SeriesRow } from './tables.ts'
import { bodiesOf, requirePublishable, templateOf, variationsOf, type SeriesTemplate } from './template.ts'
import { summaryOf } from './views.ts'

/** Series in these states count for the plan. */
export const ONGOING = ['active', 'paused'] as const

interface By {
  readonly userId: string
  readonly ifMatch: IfMatch
}

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly author: PostAuthor
  readonly checks: PostChecks
  readonly origins: TextOrigins
  readonly reader: SeriesReader
  readonly settings: AuthorSettings
  readonly validation: PostValidation
  readonly plans: PlanService
}

type PostCheckData = Static<typeof PostCheck>

/** Begins, ends and resumes series, in turns. */
export class SeriesActions {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Creates a post that recurs: it is the first occurrence.
   * @throws AppError as `PostAuthor.create`
   */
  async create(
    turn: Turn,
    input: NewPostInput,
    recurrence: RecurrenceInputData,
    userId: string,
    batchId?: string,
  ): Promise<PostData> {
    const completed = await this.#needs.author.completed(turn, input, userId)
    requireTime(completed)
    const series = { seriesId: uuidv7(this.#needs.clock.now()), occurrence: null }
    const origin = { userId, series, ...(batchId !== undefined && { batchId }) }
    const built = await this.#needs.author.build(turn, completed, origin)
    const first = { ...built, post: { ...built.post, occurrence: built.post.localTime } }
    await this.#begin(turn, first, recurrence, userId)
    return this.#needs.author.add(turn, first)
  }

  /** What creating a recurring post would do, without a change. @throws AppError validation_failed */
  async validate(given: NewPostInput, recurrence: RecurrenceInputData, caller: PostCaller): Promise<PostCheckData> {
    const { checks, clock, origins, settings, sql, validation } = this.#needs
    const input = await settings.apply(given, caller.userId, { sql })
    const { workspaceId } = input
    requireTime(input)
    const time = plannedTime(input.scheduledFor, input.timezone ?? (await timeZoneOf(sql, workspaceId)))
    recurrenceOf(recurrence, time)
    const checked = await validation.validate(input, caller)
    // Otherwise the failures of the post would be named twice.
    if (!checked.isValid) return checked
    const targets = (input.targets ?? []).map(({ accountId, override }, index) => {
      const platform = checked.targets[index]?.platform ?? ''
      return { accountId, platform, override: overrideOf(override) }
    })
    const variations = variationsOf(recurrence.variations ?? [])
    const template = { body: bodyOf(input), variations, targets, labels: [], lateMinutes: 0 }
    try {
      const resources = await resourcesOf({ sql, workspaceId }, checks, template)
      requirePublishable(checks, template, resources)
      await this.#requireRoom(sql, workspaceId)
      const scope = { ...dryScope(sql, workspaceId), caller }
      await origins.releaseFor(scope, template, resources.files, new Date(clock.now()).toISOString())
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { ...checked, isValid: false, problems: [problemOf(error)] }
    }
    return checked
  }

  /**
   * Makes a post recur.
   * @throws AppError not_found, precondition_failed, conflict, and as `PostAuthor.update`
   */
  async attach(turn: Turn, id: string, { recurrence, ...input }: Recurring, by: By): Promise<PostData> {
    const { post } = await loadPost(turn.sql, id)
    if (post.seriesId !== null) {
      const message = `The post recurs already. Change its series with PATCH /api/posts/series/${post.seriesId}.`
      throw Conflict({ message, details: { seriesId: post.seriesId } })
    }
    await this.#needs.author.update(turn, id, input, by)
    const before = await loadPost(turn.sql, id)
    requireTime({ ...before.post, scheduledFor: before.post.scheduledAt, targets: [] })
    const own = before.targets.findIndex(({ ownTime }) => ownTime)
    if (own !== -1) throw ownTimes(own)
    const occurrence = before.post.localTime
    const after = { ...before, post: { ...before.post, seriesId: uuidv7(this.#needs.clock.now()), occurrence } }
    await this.#begin(turn, after, recurrence, by.userId)
    return savePost(turn, before, after)
  }

  /**
   * Makes no more posts, or none from an occurrence on, and deletes those that are made and not published.
   * @throws AppError not_found, precondition_failed, validation_failed, conflict
   */
  async end(turn: Turn, id: string, { from, keepPosts }: SeriesEndInput, ifMatch: IfMatch): Promise<SeriesData> {
    const row = await openSeries(turn, id, ifMatch)
    const dates = new SeriesDates(row)
    const now = this.#needs.clock.now()
    const first = from === undefined ? dates.after(now, 1)[0] : requireOccurrence(dates, from)
    if (first !== undefined && keepPosts !== true) await removeOccurrences(turn, row, first.key, now)
    const at = new Date(now).toISOString()
    // Without a date, nothing is to come. Otherwise it ends when its last occurrence has passed.
    const isOver = from === undefined || row.status === 'paused'
    return this.#saved(turn, row, {
      ...(first !== undefined && { endsBefore: first.key, ...cutBefore(dates, row, first) }),
      ...(isOver ? { status: 'ended', endedAt: at, dueAt: null, problem: null } : { dueAt: at }),
    })
  }

  /**
   * Leaves an occurrence out, and deletes its post.
   * @throws AppError not_found, precondition_failed, validation_failed, conflict, post_state_conflict
   */
  async skip(turn: Turn, { occurrence, seriesId }: { seriesId: string; occurrence: string }, ifMatch: IfMatch) {
    const row = await openSeries(turn, seriesId, ifMatch)
    const { key } = requireOccurrence(new SeriesDates(row), occurrence, 'path/occurrence')
    await removeOccurrence(turn, row, key, this.#needs.clock.now())
    const exdates = [...row.exdates, key]
    recurrenceOf({ ...row, exdates }, row)
    const isActive = row.status === 'active'
    return this.#saved(turn, row, {
      exdates,
      ...(isActive && { dueAt: new Date(this.#needs.clock.now()).toISOString() }),
    })
  }

  /**
   * Goes on with a paused series, in the name of the caller. What has passed meanwhile is missed.
   * @throws AppError not_found, precondition_failed, conflict
   */
  async resume(turn: Turn, id: string, { ifMatch, userId }: By): Promise<SeriesData> {
    const row = await openSeries(turn, id, ifMatch)
    if (row.status !== 'paused') throw Conflict({ message: 'The series is not paused.' })
    const dueAt = new Date(this.#needs.clock.now()).toISOString()
    return this.#saved(turn, row, { status: 'active', authorId: userId, problem: null, dueAt })
  }

  async #begin(turn: Turn, first: LoadedPost, recurrence: RecurrenceInputData, userId: string): Promise<void> {
    const { localTime, seriesId, timeZone, workspaceId } = first.post
    if (localTime === null || timeZone === null || seriesId === null) throw new Error('A series needs a time')
    const { exdates = [], rdates = [], rrule, variations = [] } = recurrence
    const rule = recurrenceOf({ rrule, exdates, rdates }, { localTime, timeZone })
    const template = templateOf(first, variationsOf(variations))
    const resources = await resourcesOf(turn, this.#needs.checks, template)
    const { checks, clock, origins } = this.#needs
    await this.#requireRoom(turn.sql, workspaceId)
    const repeats = occurrences(rule, { limit: 2 }).occurrences.length > 1
    if (repeats) requirePublishable(checks, template, resources)
    const at = new Date(clock.now()).toISOString()
    const row: SeriesRow = {
      id: seriesId,
      workspaceId,
      version: 1,
      status: 'active',
      problem: null,
      rrule,
      exdates: [...exdates],
      rdates: [...rdates],
      localTime,
      timeZone,
      startsFrom: null,
      endsBefore: null,
      template,
      textRelease: await origins.releaseFor(turn, template, resources.files, at),
      madeUntil: localTime,
      madeCount: 1,
      missedCount: 0,
      dueAt: at,
      createdBy: userId,
      authorId: userId,
      endedAt: null,
      createdAt: at,
      updatedAt: at,
    }
    turn.insert(postSeries, row)
    turn.job(makeOccurrences, { seriesId })
    turn.emit(recurringPostCreated, summaryOf(row))
  }

  /** @throws AppError plan_limit_reached */
  async #requireRoom(sql: Sql, workspaceId: string): Promise<void> {
    const count = await postSeries.count(sql, { workspaceId, status: anyOf([...ONGOING]) })
    await this.#needs.plans.requireRoom(workspaceId, 'recurringPosts', count)
  }

  async #saved(turn: Turn, before: SeriesRow, changes: Partial<SeriesRow>): Promise<SeriesData> {
    const row = await saveSeries(turn, before, changes, this.#needs.clock.now())
    return this.#needs.reader.view(turn.sql, row)
  }
}

type Recurring = PostChangeInput & { readonly recurrence: RecurrenceInputData }

/** Writes a change of a series as a new version. */
export async function saveSeries(
  turn: Turn,
  before: SeriesRow,
  changes: Partial<SeriesRow>,
  now: number,
): Promise<SeriesRow> {
  const row = { ...before, ...changes, version: before.version + 1, updatedAt: new Date(now).toISOString() }
  const { id, ...columns } = row
  await postSeries.update(turn.sql, { id }, columns)
  if (row.status === 'active') turn.job(makeOccurrences, { seriesId: id })
  turn.emit(recurringPostUpdated, summaryOf(row))
  turn.audit({ kind: 'post_series', id })
  return row
}

/** @throws AppError not_found, precondition_failed, conflict if it has ended */
export async function openSeries(turn: Turn, id: string, ifMatch: IfMatch): Promise<SeriesRow> {
  const row = await postSeries.first(turn.sql, { id })
  if (row === undefined) throw NotFound()
  requireVersion(ifMatch, row.version)
  if (row.status === 'ended') throw Conflict({ message: 'The series has ended.' })
  return row
}

/** @throws AppError validation_failed if the series has no such occurrence */
export function requireOccurrence(dates: SeriesDates, text: string, path = 'body/from') {
  const key = text.length === 16 ? `${text}:00` : text
  const found = dates.find(key)
  if (found !== undefined) return found
  const message = 'must be an occurrence of the series, such as GET /api/posts/series/{seriesId} lists them'
  throw ValidationFailed({ errors: [{ path: `/${path}`, code: 'unknown', message }] })
}

/** How far a series is made, if nothing from an occurrence on is. */
export function cutBefore(dates: SeriesDates, row: SeriesRow, first: Occurrence) {
  const until = dates.instantOf(row.madeUntil)
  const from = first.instant.getTime()
  if (until < from) return { madeUntil: row.madeUntil, madeCount: row.madeCount }
  const made = dates.after(from - 1, MAX_CUT).filter(({ instant }) => instant.getTime() <= until)
  return { madeUntil: dates.before(first), madeCount: row.madeCount - made.length }
}

/** More than there are made ahead. */
const MAX_CUT = 100

/** The accounts and files of all contents of a series. @throws AppError validation_failed */
export async function resourcesOf(
  where: { readonly sql: Sql; readonly workspaceId: string },
  checks: PostChecks,
  template: SeriesTemplate,
): Promise<Resources> {
  const files = new Map<string, PostFile>()
  let accounts: Resources['accounts'] = new Map()
  for (const body of bodiesOf(template)) {
    const found = await checks.resources(where, body, template.targets)
    for (const [key, file] of found.files) files.set(key, file)
    accounts = found.accounts
  }
  return { accounts, files }
}

/** @throws AppError validation_failed unless a new post can recur */
function requireTime(input: Partial<NewPostInput>): asserts input is Partial<NewPostInput> & { scheduledFor: string } {
  const { draft, onFull, publishNow, queue, scheduledFor, targets = [] } = input
  const other = [
    publishNow === true && 'publishNow',
    queue !== undefined && 'queue',
    draft === true && 'draft',
    onFull === 'move' && 'onFull',
  ].find((name) => name !== false)
  if (other !== undefined) {
    const message = 'cannot be combined with recurrence'
    throw ValidationFailed({ errors: [{ path: `/body/${other}`, code: 'conflict', message }] })
  }
  if (scheduledFor == null) {
    const message = 'is required, because the post recurs'
    throw ValidationFailed({ errors: [{ path: '/body/scheduledFor', code: 'required', message }] })
  }
  const own = targets.findIndex(({ override }) => override?.scheduledFor != null)
  if (own !== -1) throw ownTimes(own)
}

function ownTimes(index: number) {
  const message = 'cannot be combined with recurrence: all accounts of a recurring post have its time'
  const path = `/body/targets/${index}/override/scheduledFor`
  return ValidationFailed({ errors: [{ path, code: 'conflict', message }] })
}
