import { DAY, MINUTE, type Clock } from '../../../../core/clock.ts'
import { Slices } from '../../../../core/slices.ts'
import type { Sql } from '../../../../core/sql.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import {
  explainShortage,
  HORIZON_DAYS,
  isFree,
  slotsAfter,
  type FreeSlot,
  type FreeSlots,
} from '../../calendar/index.ts'
import { QueueFull, type PlanningScope, RESERVING, reservationsOf, type TurnReservations } from '../../posts/index.ts'
import type { PlannedTime } from '../time.ts'
import type { PostQueues, ReadyQueue } from './queues.ts'

/** What a slot is for. */
export interface SlotWish {
  readonly accountIds: readonly string[]
  readonly label: string | null
  /** The user whose slots are used while the workspace has no queue. */
  readonly userId?: string | undefined
  /** Whether a post of these accounts has room at a time, beside the queue's own rules. */
  readonly hasRoom?: (at: number) => Promise<boolean>
}

/** Finds free slots of queues. */
export class SlotFinder {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #queues: PostQueues

  constructor(sql: Sql, clock: Clock, queues: PostQueues) {
    this.#sql = sql
    this.#clock = clock
    this.#queues = queues
  }

  /**
   * The next free slot, decided in the order of the workspace's turns. The caller must reserve it in the same turn.
   * @throws AppError queue_full
   */
  async next(turn: PlanningScope, need: SlotWish, workspaceZone?: string): Promise<PlannedTime> {
    const slot = await this.find(turn, need, workspaceZone)
    if ('time' in slot) return slot.time
    throw QueueFull({ message: slot.shortage.message, details: { reason: slot.shortage.code } })
  }

  /** The same, without an error. */
  async find(
    turn: PlanningScope,
    need: SlotWish,
    workspaceZone?: string,
  ): Promise<{ time: PlannedTime } | { shortage: NonNullable<FreeSlots['exhausted']> }> {
    const zone = workspaceZone ?? (await timeZoneOf(turn.sql, turn.workspaceId))
    const ready = await this.#queues.ready(turn, zone, need.userId)
    const reservations = reservationsOf(turn)
    const search = searchKey(ready, need)
    const after = Math.max(this.#clock.now(), reservations.searchedUntil(search) ?? 0)
    const { isSkipped, shortage, slot } = await this.#search(ready, need, { reservations, after })
    if (slot === undefined) return { shortage }
    // What was free but had no room for other reasons stays free for posts that are smaller.
    if (!isSkipped) reservations.noteSearch(search, slot.instant.getTime() - 1)
    return { time: timeOfSlot(slot) }
  }

  /** The next free slots, as they are now. */
  async preview(
    workspaceId: string,
    need: SlotWish,
    count: number,
  ): Promise<{ slots: readonly PlannedTime[]; shortage: FreeSlots['exhausted'] }> {
    const { queue } = await this.#queues.read(workspaceId, need.userId)
    const slots: FreeSlot[] = []
    let examined = 0
    const candidates = slotsAfter(queue, need, new Date(this.#clock.now()))
    while (slots.length < count) {
      const some = [...take(candidates, CHUNK)]
      if (some.length === 0) break
      examined += some.length
      const taken = await takenSlots(this.#sql, need.accountIds, some, queue.minimumGap)
      for (const [index, slot] of some.entries()) {
        const at = slot.instant.getTime()
        const isNear = slots.some((other) => Math.abs(other.instant.getTime() - at) < queue.minimumGap)
        if (!taken.has(index) && !isNear && slots.length < count) slots.push(slot)
      }
    }
    const found = { examined, found: slots.length, horizon: HORIZON_DAYS }
    return {
      slots: slots.map((slot) => timeOfSlot(slot)),
      shortage: slots.length < count ? explainShortage(queue, need, found) : null,
    }
  }

  /**
   * The free slots of a span that are still to come, at most 500. Without accounts, a slot is free if no post of the
   * workspace uses it.
   */
  async between(
    workspaceId: string,
    accountIds: readonly string[],
    { from, to }: { readonly from: Date; readonly to: Date },
  ): Promise<string[]> {
    const now = this.#clock.now()
    if (to.getTime() <= now) return []
    const { queue } = await this.#queues.read(workspaceId)
    // A slot at the very start of the span belongs to it.
    const after = new Date(Math.max(now, from.getTime() - 1))
    const days = Math.min(HORIZON_DAYS, (to.getTime() - 1 - after.getTime()) / DAY)
    const slots = [...take(slotsAfter(queue, { accountIds }, after, days), MAX_BETWEEN)]
    if (slots.length === 0) return []
    const taken =
      accountIds.length > 0
        ? await takenSlots(this.#sql, accountIds, slots, queue.minimumGap)
        : await usedSlots(this.#sql, workspaceId, slots)
    return slots.filter((_, index) => !taken.has(index)).map(({ instant }) => instant.toISOString())
  }

  async #search(
    { queue }: ReadyQueue,
    { hasRoom, ...need }: SlotWish,
    { after, reservations }: { reservations: TurnReservations; after: number },
  ): Promise<Found> {
    const { accountIds } = need
    const horizon = HORIZON_DAYS - Math.floor((after - this.#clock.now()) / DAY)
    const reach = Math.max(queue.minimumGap, MINUTE)
    let examined = 0
    let isSkipped = false
    let ahead = 2 * DAY
    let loadedTo = Number.NEGATIVE_INFINITY
    const slices = new Slices()
    for (const slot of slotsAfter(queue, need, new Date(after), horizon)) {
      const at = slot.instant.getTime()
      examined += 1
      await slices.pause()
      if (at + reach > loadedTo) {
        loadedTo = at + reach + ahead
        await reservations.load(accountIds, at - reach, loadedTo)
        // A long search needs few reads, and a short one reads little.
        ahead = Math.min(2 * ahead, MAX_AHEAD)
      }
      if (!isFree(reservations, accountIds, at, queue.minimumGap)) continue
      if (hasRoom === undefined || (await hasRoom(at))) return { slot, isSkipped }
      isSkipped = true
    }
    return { isSkipped, shortage: explainShortage(queue, need, { examined, found: 0, horizon: HORIZON_DAYS }) }
  }
}

type Found = { readonly isSkipped: boolean } & (
  | { readonly slot: FreeSlot; readonly shortage?: never }
  | { readonly slot?: never; readonly shortage: NonNullable<FreeSlots['exhausted']> }
)

/** How far a search reads ahead, at most. */
const MAX_AHEAD = 32 * DAY

/** How many slots a preview looks up at once. */
const CHUNK = 100

/** How many slots a calendar shows. */
const MAX_BETWEEN = 500

function* take<T>(items: Generator<T>, count: number): Generator<T> {
  for (let taken = 0; taken < count; taken += 1) {
    const { done, value } = items.next()
    if (done === true) return
    yield value
  }
}

/** The indices of slots at which an account has a post, or one nearer than the least distance. */
async function takenSlots(
  sql: Sql,
  accountIds: readonly string[],
  slots: readonly FreeSlot[],
  minimumGap: number,
): Promise<ReadonlySet<number>> {
  const instants = slots.map(({ instant }) => instant.toISOString())
  const reach = Math.max(minimumGap - 1, 0) / 1_000
  const rows = await sql.rows<{ place: number }>(TAKEN, [instants, accountIds, reach, RESERVING])
  return new Set(rows.map(({ place }) => place - 1))
}

// Written by hand: with 100,000 posts a typed version took 150 times as long (`npm run bench:posts-scale`).
const TAKEN = `
  select s.place from unnest($1::timestamptz[]) with ordinality as s (at, place)
  where exists (
    select 1 from unnest($2::uuid[]) as a (id)
      join post_targets t on t.account_id = a.id and t.status = any($4::text[])
        and t.scheduled_at between s.at - make_interval(secs => $3) and s.at + make_interval(secs => $3)
      join posts p on p.id = t.post_id and p.deleted_at is null)`

/** The indices of slots at which the workspace has a post. */
async function usedSlots(sql: Sql, workspaceId: string, slots: readonly FreeSlot[]): Promise<ReadonlySet<number>> {
  const instants = slots.map(({ instant }) => instant.toISOString())
  const rows = await sql.rows<{ place: number }>(USED, [instants, workspaceId, RESERVING])
  return new Set(rows.map(({ place }) => place - 1))
}

const USED = `
  select s.place::integer as place from unnest($1::timestamptz[]) with ordinality as s (at, place)
  where exists (
    select 1 from post_targets t join posts p on p.id = t.post_id and p.deleted_at is null
    where t.workspace_id = $2 and t.scheduled_at = s.at and t.status = any($3::text[]))`

function searchKey({ queue, slots, version }: ReadyQueue, { accountIds, label }: SlotWish): string {
  return JSON.stringify([version, slots ?? null, queue.timezone, label, [...accountIds].sort()])
}

function timeOfSlot({ adjustment, instant, timezone, wallClock }: FreeSlot): PlannedTime {
  return { localTime: wallClock, timeZone: timezone, scheduledAt: instant.toISOString(), adjustment }
}
