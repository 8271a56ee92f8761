import { DAY, HOUR, MINUTE } from '../../../../core/clock.ts'
import { WEEKDAYS, type Weekday } from '../../../../core/local-times.ts'
import { inOrder } from '../time/in-order.ts'
import { isInRange, parseDate, parseTime, startOfLocalDay, weekdayOf } from '../time/local-time.ts'
import { accepted, refused, type Outcome } from '../time/outcome.ts'
import { MoreTaken, type TakenTimes } from './taken-times.ts'
import { localAt, schedule, type ScheduledTime } from '../time/wall-clock.ts'
import { checkTimeZone, zoneRules, type ZoneRules } from '../time/zones.ts'

/** A time of the week for posts. */
export interface QueueSlot {
  readonly weekday: Weekday
  /** `HH:MM` in the zone of the queue. */
  readonly time: string
  /** Only for posts that ask for this label. A slot without a label is for posts that ask for none. */
  readonly label?: string | null | undefined
  /** Only for posts whose accounts are all among these. A slot without accounts is for every account. */
  readonly accountIds?: readonly string[] | undefined
}

/** Days without slots, from `from` to `to`, both included, as `YYYY-MM-DD`. */
export interface Blackout {
  readonly from: string
  readonly to: string
}

export interface QueueInput {
  readonly timezone: string
  readonly slots: readonly QueueSlot[]
  readonly blackouts?: readonly Blackout[] | undefined
  /** The least distance between two posts of one account. 0 allows all but the same instant. */
  readonly minimumGapMinutes?: number | undefined
}

/** A checked queue. */
export interface Queue {
  readonly timezone: string
  /** The slots of each weekday, Monday first, each with its time in milliseconds after midnight, in order. */
  readonly week: readonly (readonly { readonly time: number; readonly slot: QueueSlot }[])[]
  /** First and last day of each blackout, as local times of their midnights, in order and without overlaps. */
  readonly blackouts: readonly (readonly [from: number, to: number])[]
  readonly minimumGap: number
}

/** What a slot is wanted for. */
export interface SlotRequest {
  /** The accounts of the post. All must be free. */
  readonly accountIds: readonly string[]
  readonly label?: string | null | undefined
}

export interface FreeSlot extends ScheduledTime {
  readonly label: string | null
}

export interface FreeSlots {
  readonly slots: readonly FreeSlot[]
  /** Why there are fewer slots than asked for, or null. */
  readonly exhausted: { readonly code: 'no_slots' | 'no_free_slot'; readonly message: string } | null
}

/** How far ahead free slots are searched. */
export const HORIZON_DAYS = 731

export const MAX_SLOTS = 500
export const MAX_BLACKOUTS = 500
const MAX_GAP_MINUTES = 7 * 24 * 60

/** Checks a queue. */
export function parseQueue(input: QueueInput): Outcome<Queue> {
  const zone = checkTimeZone(input.timezone)
  if (!zone.ok) return zone
  const gap = input.minimumGapMinutes ?? 0
  if (!(gap >= 0 && gap <= MAX_GAP_MINUTES)) {
    return refused('minimumGapMinutes', 'out_of_range', `The distance must be from 0 to ${MAX_GAP_MINUTES} minutes.`)
  }
  if (input.slots.length > MAX_SLOTS) return refused('slots', 'too_many', `A queue has at most ${MAX_SLOTS} slots.`)
  const week = WEEKDAYS.map((): { time: number; slot: QueueSlot }[] => [])
  for (const slot of input.slots) {
    const time = /^\d\d:\d\d$/.test(slot.time) ? parseTime(slot.time) : undefined
    if (time === undefined) return refused('slots', 'invalid_time', `"${slot.time}" must be a time such as 09:30.`)
    const day = week[WEEKDAYS.indexOf(slot.weekday)]
    if (day === undefined) {
      return refused('slots', 'invalid_weekday', `"${slot.weekday}" must be one of ${WEEKDAYS.join(', ')}.`)
    }
    day.push({ time, slot })
  }
  const blackouts = parseBlackouts(input.blackouts ?? [])
  if (!blackouts.ok) return blackouts
  const sorted = week.map((day) => day.toSorted((a, b) => a.time - b.time))
  return accepted({ timezone: zone.value, week: sorted, blackouts: blackouts.value, minimumGap: gap * MINUTE })
}

function parseBlackouts(list: readonly Blackout[]): Outcome<Queue['blackouts']> {
  if (list.length > MAX_BLACKOUTS) {
    return refused('blackouts', 'too_many', `A queue has at most ${MAX_BLACKOUTS} blackouts.`)
  }
  const days: [number, number][] = []
  for (const { from, to } of list) {
    const first = parseDate(from)
    const last = parseDate(to)
    if (first === undefined || last === undefined) {
      return refused('blackouts', 'invalid_date', `"${from}" to "${to}" must be days such as 2026-12-24.`)
    }
    if (last < first)
      return refused('blackouts', 'invalid_date', `The blackout ends on ${to}, before it begins on ${from}.`)
    days.push([first, last])
  }
  return accepted(joined(days))
}

/** Joins spans that overlap or follow each other, and puts them in order. */
function joined(spans: readonly (readonly [from: number, to: number])[]): [number, number][] {
  const list: [number, number][] = []
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    const last = list.at(-1)
    if (last !== undefined && from <= last[1] + DAY) last[1] = Math.max(last[1], to)
    else list.push([from, to])
  }
  return list
}

/**
 * The next free slots after an instant, in order. Each slot that is returned counts as taken for the slots after it, so
 * a preview of 20 shows where 20 posts would go.
 *
 * @param options.taken times of posts of the accounts
 * @param options.horizonDays where the search ends
 */
export function nextFree(
  queue: Queue,
  request: SlotRequest,
  options: {
    readonly taken: TakenTimes
    readonly after: Date
    readonly count: number
    readonly horizonDays?: number
  },
  rules: ZoneRules = zoneRules,
): FreeSlots {
  const taken = new MoreTaken(options.taken)
  const horizon = options.horizonDays ?? HORIZON_DAYS
  const slots: FreeSlot[] = []
  let examined = 0
  for (const slot of slotsAfter(queue, request, options.after, horizon, rules)) {
    if (slots.length >= options.count) break
    examined += 1
    const at = slot.instant.getTime()
    if (!isFree(taken, request.accountIds, at, queue.minimumGap)) continue
    slots.push(slot)
    for (const accountId of request.accountIds) taken.add(accountId, at)
  }
  if (slots.length >= options.count) return { slots, exhausted: null }
  return { slots, exhausted: explainShortage(queue, request, { examined, found: slots.length, horizon }) }
}

/** Whether no account has a post at an instant, or nearer to it than the least distance. */
export function isFree(taken: TakenTimes, accountIds: readonly string[], at: number, minimumGap: number): boolean {
  const reach = Math.max(minimumGap - 1, 0)
  return accountIds.every((accountId) => taken.within(accountId, at - reach, at + reach) === undefined)
}

/** The slots of a queue for a request after an instant, in order, whether they are taken or not. */
export function* slotsAfter(
  queue: Queue,
  request: SlotRequest,
  after: Date,
  horizonDays: number = HORIZON_DAYS,
  rules: ZoneRules = zoneRules,
): Generator<FreeSlot> {
  const end = after.getTime() + horizonDays * DAY
  for (const slot of inOrder(nominalSlots(queue, request, after.getTime(), end, rules))) {
    const at = slot.instant.getTime()
    if (at <= after.getTime() || at > end || isBlackedOut(queue, localAt(at, queue.timezone, rules))) continue
    yield slot
  }
}

function* nominalSlots(
  queue: Queue,
  request: SlotRequest,
  after: number,
  end: number,
  rules: ZoneRules,
): Generator<FreeSlot> {
  const { timezone, week } = queue
  const fitting = week.map((day) => day.filter(({ slot }) => fits(slot, request)))
  if (fitting.every((day) => day.length === 0)) return
  // A missing hour can move a slot by a day (Pacific/Apia in 2011), so slots of the day before matter.
  let day = startOfLocalDay(localAt(after, timezone, rules) - DAY - HOUR)
  const last = localAt(end, timezone, rules) + DAY
  let previous: number | undefined
  for (; day <= last && isInRange(day); day += DAY) {
    // A missing hour can move a slot out of a blackout, but not past the day after it.
    if (isBlackedOut(queue, day) && isBlackedOut(queue, day + DAY)) continue
    for (const { time, slot } of fitting[weekdayOf(day)] ?? []) {
      const local = day + time
      if (local === previous) continue
      previous = local
      yield { ...schedule(local, timezone, rules), label: slot.label ?? null }
    }
  }
}

function fits(slot: QueueSlot, request: SlotRequest): boolean {
  if ((slot.label ?? null) !== (request.label ?? null)) return false
  const { accountIds } = slot
  return accountIds === undefined || request.accountIds.every((accountId) => accountIds.includes(accountId))
}

function isBlackedOut({ blackouts }: Queue, local: number): boolean {
  const day = startOfLocalDay(local)
  // The last blackout that begins on that day or before it.
  let [low, high] = [0, blackouts.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((blackouts[middle]?.[0] ?? 0) <= day) low = middle + 1
    else high = middle
  }
  return day <= (blackouts[low - 1]?.[1] ?? Number.NEGATIVE_INFINITY)
}

/** Why a search found fewer slots than were asked for. */
export function explainShortage(
  queue: Queue,
  request: SlotRequest,
  { examined, found, horizon }: { readonly examined: number; readonly found: number; readonly horizon: number },
): NonNullable<FreeSlots['exhausted']> {
  const label = request.label ?? null
  const wanted = label === null ? 'without a label' : `with the label "${label}"`
  if (queue.week.every((day) => day.every(({ slot }) => !fits(slot, request)))) {
    return { code: 'no_slots', message: `The queue has no slot ${wanted} for all accounts of the post. Add one.` }
  }
  const reason =
    examined === 0
      ? 'blackouts cover all of them'
      : `${examined - found} of ${examined} are taken or too near to another post of the account`
  return {
    code: 'no_free_slot',
    message: `The queue has ${found} free slots ${wanted} in the next ${horizon} days: ${reason}. Add slots, or reduce the least distance.`,
  }
}
