import type { Clock } from '../../../../core/clock.ts'
import { Conflict, ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { IfMatch } from '../../../../core/precondition.ts'
import type { Turn } from '../../../../core/turn.ts'
import { atLeast } from '../../../../db/condition.ts'
import type { PostAuthor } from '../author.ts'
import { formatLocal, parseLocal, startOfLocalDay, type Occurrence } from '../../calendar/index.ts'
import { canonicalJson } from '../changes/snapshot.ts'
import type { PostChecks } from '../checks.ts'
import { bodyOf, overrideOf, loadPosts, savePost, type LoadedPost, posts } from '../../posts/index.ts'
import type { TextOrigins } from '../text-origin/text-origins.ts'
import { plannedTime } from '../../planning/index.ts'
import { dueOccurrences, SeriesDates, type SeriesRule } from './dates.ts'
import { cutBefore, openSeries, requireOccurrence, resourcesOf, saveSeries } from './actions.ts'
import { recurringPostCreated } from './events.ts'
import { makeOccurrences } from './jobs.ts'
import type { OccurrenceMaker } from './maker.ts'
import { recurrenceOf, type SeriesReader } from './reader.ts'
import { isUnstarted, remove } from './removal.ts'
import type { SeriesChangeInput, SeriesData } from './schemas.ts'
import { postSeries, type SeriesRow } from './tables.ts'
import { changeTo, isEdited, requirePublishable, variationsOf, type SeriesTemplate } from './template.ts'
import { summaryOf } from './views.ts'

interface Needs {
  readonly clock: Clock
  readonly author: PostAuthor
  readonly checks: PostChecks
  readonly origins: TextOrigins
  readonly maker: OccurrenceMaker
  readonly reader: SeriesReader
}

/** Changes all occurrences of a series that are still to come, or those from one on, in turns. */
export class SeriesChanges {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * @throws AppError not_found, precondition_failed, conflict, validation_failed, platform_validation_failed,
   *   account_not_usable, budget_exceeded. Then nothing is changed
   */
  async update(
    turn: Turn,
    id: string,
    input: SeriesChangeInput,
    { ifMatch, userId }: { userId: string; ifMatch: IfMatch },
  ): Promise<SeriesData> {
    const { checks, clock, origins, reader } = this.#needs
    const now = clock.now()
    const row = await openSeries(turn, id, ifMatch)
    const dates = new SeriesDates(row)
    const first = input.from === undefined ? dates.after(now, 1)[0] : requireOccurrence(dates, input.from)
    if (first === undefined || first.instant.getTime() <= now) {
      throw Conflict({ message: 'The occurrence has passed. Only those that are still to come can be changed.' })
    }
    const isSplit = input.from !== undefined && dates.first()?.key !== first.key
    const { from, rule } = ruleAfter(row, input, { first, isSplit })
    recurrenceOf(rule, rule)
    const start = firstFrom(rule, from, now)
    const template = await templateAfter(turn, row.template, input, checks)
    const resources = await resourcesOf(turn, checks, template)
    requirePublishable(checks, template, resources, '/body/variations')
    // What an account that the series has already cannot publish is said at its posts.
    const known = new Set(row.template.targets.map(({ accountId }) => accountId))
    checks.requireUsable(
      template.targets.filter(({ accountId }) => !known.has(accountId)),
      resources,
    )
    const at = new Date(now).toISOString()
    const textRelease = await origins.releaseAfter(turn, row, template, resources.files, at)
    const changes = { ...rule, template, textRelease, ...cutBefore(dates, row, first) }
    const next: SeriesRow = isSplit ? { ...row, ...changes, id: uuidv7(now), version: 1 } : { ...row, ...changes }
    if (isSplit) Object.assign(next, { createdAt: at, updatedAt: at, missedCount: 0, problem: null, dueAt: at })
    const made = await this.#rewrite(turn, { row, next, first, start, userId })
    if (isSplit) {
      await saveSeries(turn, row, { endsBefore: first.key, ...cutBefore(dates, row, first), dueAt: at }, now)
      turn.insert(postSeries, { ...next, ...made })
      turn.emit(recurringPostCreated, summaryOf({ ...next, ...made }))
      turn.audit({ kind: 'post_series', id: next.id, details: { continues: id } })
      if (row.status === 'active') turn.job(makeOccurrences, { seriesId: next.id })
      return reader.view(turn.sql, { ...next, ...made })
    }
    return reader.view(turn.sql, await saveSeries(turn, row, { ...changes, ...made }, now))
  }

  /**
   * Gives the posts that are made the new content and the new times, in order. Posts of dates that the new rule does not
   * have get other dates; those that are left are deleted, and missing ones are made. Posts that were changed by
   * themselves, and those whose publication has begun, stay as they are.
   */
  async #rewrite(
    turn: Turn,
    { first, next, row, start, userId }: Rewritten,
  ): Promise<Pick<SeriesRow, 'madeUntil' | 'madeCount' | 'dueAt'>> {
    const { clock, maker } = this.#needs
    const now = clock.now()
    const least = start.key < first.key ? start.key : first.key
    const all = await loadPosts(turn.sql, { seriesId: row.id, occurrence: atLeast<string | null>(least) })
    const deleted = all.filter(({ post }) => post.deletedAt !== null)
    for (const { post } of deleted) await posts.update(turn.sql, { id: post.id }, { seriesId: next.id })
    const gone = new Set(deleted.map(({ post }) => post.occurrence))
    const made = all.filter(({ post }) => post.deletedAt === null)
    const isKept = (one: LoadedPost) => !isUnstarted(one) || isCancelled(one) || isEdited(one, row.template)
    const dates = new SeriesDates(next)
    const madeUntil = dates.before(start)
    const { due, dueAt } = dueOccurrences(dates, madeUntil, now)
    const keys = new Set(due.map(({ key }) => key))
    const byKey = new Map(made.map((one) => [one.post.occurrence, one]))
    const spare = made.filter((one) => !isKept(one) && !keys.has(one.post.occurrence ?? ''))
    let number = next.madeCount
    for (const one of due) {
      const known = byKey.get(one.key)
      const post = known ?? (gone.has(one.key) ? undefined : spare.shift())
      if (post === undefined) {
        if (!gone.has(one.key) && row.status === 'active') await maker.make(turn, next, one, number)
      } else if (isKept(post)) await this.#keep(turn, post, next)
      else await this.#change(turn, post, { next, occurrence: one, number, userId })
      number += 1
    }
    for (const one of spare) await remove(turn, one, now)
    for (const one of made) {
      if (isKept(one) && !keys.has(one.post.occurrence ?? '')) await this.#keep(turn, one, next)
    }
    const until = due.at(-1)?.key ?? madeUntil
    return { madeUntil: until, madeCount: number, dueAt: new Date(dueAt ?? now).toISOString() }
  }

  async #keep(turn: Turn, before: LoadedPost, { id }: SeriesRow): Promise<void> {
    if (before.post.seriesId === id) return
    await savePost(turn, before, { ...before, post: { ...before.post, seriesId: id } })
  }

  async #change(
    turn: Turn,
    before: LoadedPost,
    { next, number, occurrence, userId }: { next: SeriesRow; number: number; occurrence: Occurrence; userId: string },
  ): Promise<void> {
    const { key, timezone } = occurrence
    const { post } = before
    const input = changeTo(next.template, number)
    const isSameTime = post.occurrence === key && post.timeZone === timezone
    const isSame = canonicalJson(changeTo(templateLike(before, next.template), 0)) === canonicalJson(input)
    if (isSame && isSameTime) return this.#keep(turn, before, next)
    const moved = { ...before, post: { ...post, seriesId: next.id, occurrence: key } }
    const time = isSameTime ? {} : { scheduledFor: key, timezone }
    await this.#needs.author.change(turn, moved, { ...input, ...time }, { kind: 'edited', authorId: userId })
  }
}

interface Rewritten {
  readonly row: SeriesRow
  readonly next: SeriesRow
  /** The first occurrence that changes. */
  readonly first: Occurrence
  /** The first occurrence after the change. */
  readonly start: Occurrence
  readonly userId: string
}

/** The first occurrence of a rule from a local time on. @throws AppError validation_failed if it is not to come */
function firstFrom(rule: SeriesRule, from: string, now: number): Occurrence {
  const dates = new SeriesDates(rule)
  const start = dates.after(Math.max(now, dates.instantOf(from) - 1), 1)[0]
  if (start !== undefined) return start
  const message = 'leaves no occurrence that is still to come'
  throw ValidationFailed({ errors: [{ path: '/body/recurrence/rrule', code: 'rrule_never_matches', message }] })
}

/** A template that makes the post as it is, to compare it. */
function templateLike({ post, targets }: LoadedPost, template: SeriesTemplate): SeriesTemplate {
  const { body, labels, lateMinutes } = post
  return { ...template, body, labels, lateMinutes, variations: [], targets: [...targets] }
}

/** What a member has cancelled stays cancelled. */
function isCancelled({ targets }: LoadedPost): boolean {
  return targets.some(({ problem, status }) => status === 'cancelled' && problem === null)
}

const LONG_AGO = '1970-01-01T00:00:00'

/** Writes out the day that a rule takes from its first occurrence, if that is the last day of a shorter month. */
function withDay(rrule: string, { adjustment, key }: Occurrence): string {
  const day = adjustment?.requestedTime.slice(8, 10) ?? ''
  if (day === '' || day === key.slice(8, 10) || /BY(?:MONTH)?DAY=/i.test(rrule)) return rrule
  if (/FREQ=MONTHLY/i.test(rrule)) return `${rrule};BYMONTHDAY=${day}`
  const month = /BYMONTH=/i.test(rrule) ? '' : `;BYMONTH=${Number(key.slice(5, 7))}`
  return /FREQ=YEARLY/i.test(rrule) ? `${rrule}${month};BYMONTHDAY=${day}` : rrule
}

/** The rule after a change, and the local time from which it applies. @throws AppError validation_failed */
function ruleAfter(
  row: SeriesRow,
  input: SeriesChangeInput,
  { first, isSplit }: { readonly first: Occurrence; readonly isSplit: boolean },
): { readonly rule: SeriesRule; readonly from: string } {
  const { endsBefore, exdates, localTime, rdates, rrule } = row
  const timeZone = input.timezone === undefined ? row.timeZone : plannedTime(first.key, input.timezone).timeZone
  const time = input.scheduledFor === undefined ? first.key : plannedTime(input.scheduledFor, timeZone).localTime
  const { exdates: left = exdates, rdates: added = rdates, rrule: wanted = rrule } = input.recurrence ?? {}
  const lists = { exdates: [...left], rdates: [...added] }
  if (wanted !== rrule) {
    // The new rule counts its occurrences from the first one that changes. Dates that were excluded stay excluded.
    const own = { startsFrom: null, endsBefore: null }
    return { rule: { rrule: withDay(wanted, first), ...lists, localTime: time, timeZone, ...own }, from: time }
  }
  const startsFrom = isSplit ? first.key : row.startsFrom
  const kept = { rrule, ...lists, localTime, timeZone, startsFrom, endsBefore }
  // Dates that are added can be before the next one.
  if (time === first.key) return { rule: kept, from: isSplit ? first.key : LONG_AGO }
  if (time.slice(0, 10) !== first.key.slice(0, 10) || /BYHOUR|BYMINUTE/i.test(rrule)) {
    const message = 'is another day, or the rule has its own clock times. Send `recurrence` as well'
    throw ValidationFailed({ errors: [{ path: '/body/scheduledFor', code: 'conflict', message }] })
  }
  // The same days at another clock time.
  const moved = (key: string) => `${key.slice(0, 10)}T${time.slice(11)}`
  const rule = {
    ...kept,
    localTime: moved(localTime),
    startsFrom: startsFrom === null ? null : startOfDay(startsFrom),
    endsBefore: endsBefore === null ? null : startOfDay(endsBefore),
    exdates: lists.exdates.map((one) => (one.length > 10 ? moved(one) : one)),
  }
  return { rule, from: startOfDay(first.key) }
}

function startOfDay(key: string): string {
  return formatLocal(startOfLocalDay(parseLocal(key) ?? 0))
}

/** @throws AppError validation_failed */
async function templateAfter(
  turn: Turn,
  old: SeriesTemplate,
  input: SeriesChangeInput,
  checks: PostChecks,
): Promise<SeriesTemplate> {
  const own = input.targets?.findIndex(({ override }) => override?.scheduledFor != null) ?? -1
  if (own !== -1) {
    const path = `/body/targets/${own}/override/scheduledFor`
    const message = 'cannot be combined with recurrence: all accounts of a recurring post have its time'
    throw ValidationFailed({ errors: [{ path, code: 'conflict', message }] })
  }
  const body = bodyOf(input, old.body)
  const wanted = input.targets?.map(({ accountId, override }) => ({ accountId, override: overrideOf(override) }))
  const { accounts } = await checks.resources(turn, body, wanted ?? old.targets)
  if (wanted?.length === 0) {
    const message = 'must name at least one account'
    throw ValidationFailed({ errors: [{ path: '/body/targets', code: 'required', message }] })
  }
  return {
    body,
    variations: input.variations === undefined ? old.variations : variationsOf(input.variations),
    targets: wanted?.map((one) => ({ ...one, platform: accounts.get(one.accountId)?.platform ?? '' })) ?? old.targets,
    labels: input.labels ?? old.labels,
    lateMinutes: input.lateMinutes ?? old.lateMinutes,
  }
}
