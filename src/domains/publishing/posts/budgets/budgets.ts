import { DAY, HOUR, type Clock } from '../../../../core/clock.ts'
import { numberOf, type Limits } from '../../../../platforms/rules/limits.ts'
import type { RuleId } from '../../../../platforms/rules/rule.ts'
import type { PlanningScope } from '../planning-scope.ts'
import type { Reservation } from '../reservations/book.ts'
import type { TargetLoad } from '../reservations/load.ts'
import { reservationsOf, type TurnReservations } from '../reservations/turn-reservations.ts'
import { mostAround } from './windows.ts'

/** A post at one account that needs room in its budgets. */
export interface RoomWish extends TargetLoad {
  readonly accountId: string
  readonly platform: string
  readonly limits: Limits
}

/** A budget that has no room for a post. */
export interface Shortage {
  readonly accountId: string
  readonly platform: string
  readonly rule: RuleId
  readonly allowed: number
  /** What other posts take of the budget in the fullest span around the time. */
  readonly used: number
  /** What the post itself takes. */
  readonly needed: number
  readonly unit: string
  readonly origin: 'rule' | 'operator' | 'live'
}

interface Budget {
  readonly rule: RuleId
  readonly span: number
  readonly unit: string
  /** How much a post takes. @param countsReplies whether the platform has a limit for replies of their own */
  readonly weight: (load: { readonly replies: number; readonly cost: number }, countsReplies: boolean) => number
}

const MICROS = 1e6

const posts: Budget['weight'] = ({ replies }, countsReplies) => 1 + (countsReplies ? 0 : replies)

const BUDGETS: readonly Budget[] = [
  { rule: 'posts.perDay', span: DAY, unit: 'posts in 24 hours', weight: posts },
  { rule: 'posts.perHour', span: HOUR, unit: 'posts in an hour', weight: posts },
  { rule: 'replies.perDay', span: DAY, unit: 'replies in 24 hours', weight: ({ replies }) => replies },
  { rule: 'cost.perDay', span: DAY, unit: 'US dollars in 24 hours', weight: ({ cost }) => cost / MICROS },
]

/** Whether posts have room in the budgets of their accounts and of this server, at the time of scheduling. */
export class PostBudgets {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * The first budget without room for posts at an instant; undefined if all have room.
   * @param at milliseconds since the epoch
   */
  async shortage(turn: PlanningScope, wishes: readonly RoomWish[], at: number): Promise<Shortage | undefined> {
    // What is due is published now.
    const from = Math.max(at, this.#clock.now())
    const reservations = reservationsOf(turn)
    const ids = wishes.map(({ accountId }) => accountId)
    await reservations.load(ids, from - DAY, from + DAY)
    for (const wish of wishes) {
      const found = ofAccount(reservations, wish, from)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function ofAccount(reservations: TurnReservations, wish: RoomWish, at: number): Shortage | undefined {
  const { accountId, costMicros, limits, platform, replies } = wish
  const countsReplies = limits.byId.has('replies.perDay')
  let near: readonly Reservation[] | undefined
  for (const { rule, span, unit, weight } of BUDGETS) {
    const allowed = numberOf(limits, rule)
    const needed = weight({ replies, cost: costMicros }, countsReplies)
    if (allowed === undefined || needed === 0) continue
    near ??= [...reservations.between(accountId, at - DAY, at + DAY)]
    const counted = near.map((one) => ({ at: one.at, weight: weight(one, countsReplies) }))
    const used = mostAround(counted, at, span)
    if (used + needed <= allowed) continue
    const origin = limits.byId.get(rule)?.source.origin ?? 'rule'
    return { accountId, platform, rule, allowed, used, needed, unit, origin }
  }
  return undefined
}
