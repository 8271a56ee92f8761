import { DAY, type Clock } from '../../../../core/clock.ts'
import type { Resources, Wanted } from '../new-target.ts'
import type { PlatformDirectory } from '../../../../platforms/directory.ts'
import type { Limits } from '../../../../platforms/rules/limits.ts'
import type { PostingAccount } from '../../../social/accounts/index.ts'
import { parseLocal, schedule } from '../../calendar/index.ts'
import { BudgetExceeded, type PlanningScope, loadOf, type PostBody } from '../../posts/index.ts'
import type { SlotFinder } from '../slots/finder.ts'
import type { PlannedTime } from '../time.ts'
import { PostBudgets, type BudgetNeed, type Shortage } from './budgets.ts'

/** How many days are searched for room. */
const MAX_DAYS = 366

/** A post that is to be scheduled. */
export interface Planned {
  readonly body: PostBody
  readonly resources: Resources
  /** Its accounts, each with its own time. */
  readonly targets: readonly (Wanted & { readonly time: PlannedTime | null; readonly ownTime: boolean })[]
  /** The label of the queue whose next slot is shown as an option. */
  readonly label: string | null
}

/** Everything that limits what an account can publish. */
export function accountLimits(directory: PlatformDirectory, { capabilities, platform }: PostingAccount): Limits {
  return directory.limits(directory.require(platform), capabilities ?? undefined)
}

/** Finds times with room in the budgets of accounts. */
export class BudgetPlanner {
  readonly #clock: Clock
  readonly #directory: PlatformDirectory
  readonly #budgets: PostBudgets
  readonly #slots: SlotFinder

  constructor(clock: Clock, directory: PlatformDirectory, slots: SlotFinder) {
    this.#clock = clock
    this.#directory = directory
    this.#budgets = new PostBudgets(clock)
    this.#slots = slots
  }

  /** What a post needs of the budgets of its accounts. */
  needs({
    body,
    resources,
    targets,
  }: Pick<Planned, 'body' | 'resources'> & { targets: readonly Wanted[] }): BudgetNeed[] {
    return targets.flatMap(({ accountId, override }) => {
      const account = resources.accounts.get(accountId)
      if (account === undefined) return []
      const { platform } = account
      const limits = accountLimits(this.#directory, account)
      return [{ accountId, platform, limits, reports: account.budgets ?? {}, ...loadOf(body, override, platform) }]
    })
  }

  /** Whether posts have room at an instant, in milliseconds since the epoch. */
  async hasRoom(turn: PlanningScope, needs: readonly BudgetNeed[], at: number): Promise<boolean> {
    return (await this.#budgets.shortage(turn, needs, at)) === undefined
  }

  /**
   * Refuses a post that does not fit into the budgets of its accounts.
   * @throws AppError budget_exceeded, with the next day and the next slot that have room
   */
  async require(turn: PlanningScope, planned: Planned): Promise<void> {
    const found = await this.#shortage(turn, planned)
    if (found !== undefined) throw await this.#refusal(turn, planned, found)
  }

  /**
   * The time of a post, or the same clock time of the next day on which all of its accounts have room.
   * @throws AppError budget_exceeded
   */
  async moved(turn: PlanningScope, planned: Planned, time: PlannedTime): Promise<PlannedTime> {
    const found = await this.#shortage(turn, planned)
    if (found === undefined) return time
    const own = planned.targets.find(({ accountId }) => accountId === found.shortage.accountId)
    const next = own?.ownTime === true ? undefined : await this.#nextDay(turn, planned, time)
    if (next !== undefined) return next
    throw await this.#refusal(turn, planned, found)
  }

  async #shortage(turn: PlanningScope, planned: Planned): Promise<Missing | undefined> {
    for (const target of planned.targets) {
      if (target.time === null) continue
      const needs = this.needs({ ...planned, targets: [target] })
      const shortage = await this.#budgets.shortage(turn, needs, Date.parse(target.time.scheduledAt))
      if (shortage !== undefined) return { shortage, time: target.time }
    }
    return undefined
  }

  async #nextDay(turn: PlanningScope, planned: Planned, time: PlannedTime): Promise<PlannedTime | undefined> {
    const local = parseLocal(time.localTime)
    if (local === undefined) return undefined
    const needs = this.needs({ ...planned, targets: planned.targets.filter(({ ownTime }) => !ownTime) })
    for (let ahead = 1; ahead <= MAX_DAYS; ahead += 1) {
      const { adjustment, instant, wallClock } = schedule(local + ahead * DAY, time.timeZone)
      if (instant.getTime() <= this.#clock.now() || !(await this.hasRoom(turn, needs, instant.getTime()))) continue
      return { localTime: wallClock, timeZone: time.timeZone, scheduledAt: instant.toISOString(), adjustment }
    }
    return undefined
  }

  async #refusal(turn: PlanningScope, planned: Planned, { shortage, time }: Missing) {
    const { allowed, needed, resetsAt, scope, unit, used } = shortage
    const needs = this.needs({ ...planned, targets: planned.targets.filter(({ ownTime }) => !ownTime) })
    const accountIds = needs.map(({ accountId }) => accountId)
    const hasRoom = (at: number) => this.hasRoom(turn, needs, at)
    const slot =
      accountIds.length === 0 ? undefined : await this.#slots.find(turn, { accountIds, label: planned.label, hasRoom })
    const day = await this.#nextDay(turn, planned, time)
    const whose = scope === 'app' ? 'All accounts of this server together have' : 'The account has'
    const message =
      resetsAt !== null
        ? `The platform allows ${allowed} more ${unit} until ${resetsAt}. ${used} are planned, and this post needs ${needed}.`
        : `${whose} ${used} ${unit} around ${time.scheduledAt}, and this post needs ${needed} more. The limit is ${allowed}.`
    return BudgetExceeded({
      message,
      details: {
        ...shortage,
        scheduledFor: time.scheduledAt,
        nextDay: day === undefined ? null : optionOf(day),
        nextSlot: slot === undefined || !('time' in slot) ? null : optionOf(slot.time),
      },
    })
  }
}

interface Missing {
  readonly shortage: Shortage
  readonly time: PlannedTime
}

function optionOf({ localTime, scheduledAt, timeZone }: PlannedTime) {
  return { scheduledFor: scheduledAt, localTime, timezone: timeZone }
}
