import { DAY, MINUTE, type Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { explainShortage, HORIZON_DAYS, isFree, slotsAfter, type FreeSlot, type FreeSlots } from '../calendar/queue.ts'
import { QueueFull } from '../errors.ts'
import type { PlanningScope } from '../planning-scope.ts'
import { ReservationBook } from '../reservations/book.ts'
import { reservationsOf, TurnReservations } from '../reservations/turn-reservations.ts'
import type { PlannedTime } from '../time.ts'
import type { PostQueues, ReadyQueue } from './queues.ts'

/** What a slot is for. */
export interface SlotWish {
  readonly accountIds: readonly string[]
  readonly label: string | null
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
  async next(turn: PlanningScope, wish: SlotWish, workspaceZone?: string): Promise<PlannedTime> {
    const slot = await this.find(turn, wish, workspaceZone)
    if ('time' in slot) return slot.time
    throw QueueFull({ message: slot.shortage.message, details: { reason: slot.shortage.code } })
  }

  /** The same, without an error. */
  async find(
    turn: PlanningScope,
    wish: SlotWish,
    workspaceZone?: string,
  ): Promise<{ time: PlannedTime } | { shortage: NonNullable<FreeSlots['exhausted']> }> {
    const zone = workspaceZone ?? (await timeZoneOf(turn.sql, turn.workspaceId))
    const ready = await this.#queues.ready(turn, zone)
    const reservations = reservationsOf(turn)
    const search = searchKey(ready, wish)
    const after = Math.max(this.#clock.now(), reservations.searchedUntil(search) ?? 0)
    const found = await this.#search(ready, wish, { reservations, after, count: 1 })
    const [slot] = found.slots
    if (slot === undefined) return { shortage: found.shortage }
    // What was free but had no room for other reasons stays free for posts that are smaller.
    if (!found.isSkipped) reservations.noteSearch(search, slot.instant.getTime() - 1)
    return { time: timeOfSlot(slot) }
  }

  /** The next free slots, as they are now. */
  async preview(
    workspaceId: string,
    wish: SlotWish,
    count: number,
  ): Promise<{ slots: readonly PlannedTime[]; shortage: FreeSlots['exhausted'] }> {
    const ready = await this.#queues.read(workspaceId)
    const reservations = new TurnReservations(this.#sql, new ReservationBook())
    const found = await this.#search(ready, wish, { reservations, after: this.#clock.now(), count })
    return {
      slots: found.slots.map((slot) => timeOfSlot(slot)),
      shortage: found.slots.length < count ? found.shortage : null,
    }
  }

  async #search(
    { queue }: ReadyQueue,
    wish: SlotWish,
    { after, count, reservations }: { reservations: TurnReservations; after: number; count: number },
  ): Promise<Found> {
    const { accountIds, hasRoom } = wish
    const horizon = HORIZON_DAYS - Math.floor((after - this.#clock.now()) / DAY)
    const reach = Math.max(queue.minimumGap, MINUTE)
    const slots: FreeSlot[] = []
    let examined = 0
    let isSkipped = false
    for (const slot of slotsAfter(queue, wish, new Date(after), horizon)) {
      const at = slot.instant.getTime()
      examined += 1
      await reservations.load(accountIds, at - reach, at + reach)
      const isNear = slots.some((other) => Math.abs(other.instant.getTime() - at) < queue.minimumGap)
      if (isNear || !isFree(reservations, accountIds, at, queue.minimumGap)) continue
      if (hasRoom !== undefined && !(await hasRoom(at))) {
        isSkipped = true
        continue
      }
      slots.push(slot)
      if (slots.length === count) break
    }
    const shortage = explainShortage(queue, wish, { examined, found: slots.length, horizon: HORIZON_DAYS })
    return { slots, isSkipped, shortage }
  }
}

interface Found {
  readonly slots: readonly FreeSlot[]
  readonly isSkipped: boolean
  readonly shortage: NonNullable<FreeSlots['exhausted']>
}

function searchKey({ queue, version }: ReadyQueue, { accountIds, label }: SlotWish): string {
  return JSON.stringify([version, queue.timezone, label, [...accountIds].sort()])
}

function timeOfSlot({ adjustment, instant, timezone, wallClock }: FreeSlot): PlannedTime {
  return { localTime: wallClock, timeZone: timezone, scheduledAt: instant.toISOString(), adjustment }
}
