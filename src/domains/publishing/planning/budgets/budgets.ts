import { DAY, HOUR, type Clock } from '../../../../core/clock.ts'
import { numberOf, type Limits } from '../../../../platforms/rules/limits.ts'
import type { RuleId } from '../../../../platforms/rules/rule.ts'
import type { StoredBudget } from '../../../social/accounts/index.ts'
import {
  type PlanningScope,
  type BookedTime,
  type TargetLoad,
  reservationsOf,
  type TurnReservations,
} from '../../posts/index.ts'
import { appUses } from './app-use.ts'
import { mostAround } from './windows.ts'

/** A post at one account that needs room in its budgets. */
export interface BudgetNeed extends TargetLoad {
  readonly accountId: string
  readonly platform: string
  readonly limits: Limits
  /** What the platform last said about the budgets of the account, by its names. */
  readonly reports: Readonly<Record<string, StoredBudget>>
}

/** A budget that has no room for a post. */
export interface Shortage {
  readonly accountId: string
  readonly platform: string
  /** Whose budget it is: the account's, or that of the app which all accounts of this server share. */
  readonly scope: 'account' | 'app'
  /** The id of the rule, or the platform's name of the budget. */
  readonly rule: string
  readonly allowed: number
  /** What other posts take of the budget in the fullest span around the time. */
  readonly used: number
  /** What the post itself takes. */
  readonly needed: number
  readonly unit: string
  readonly origin: 'rule' | 'operator' | 'live'
  /** Until when `allowed` is all that is left, if the platform has said so. */
  readonly resetsAt: string | null
}

interface Budget {
  readonly rule: RuleId
  readonly span: number
  readonly unit: string
  /** How much a post takes. @param countsReplies whether the platform has a separate limit for replies */
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
  async shortage(turn: PlanningScope, needs: readonly BudgetNeed[], at: number): Promise<Shortage | undefined> {
    // What is due is published now.
    const from = Math.max(at, this.#clock.now())
    const reservations = reservationsOf(turn)
    const ids = needs.map(({ accountId }) => accountId)
    await reservations.load(ids, from - DAY, from + DAY)
    for (const need of needs) {
      const found = ofAccount(reservations, need, from) ?? ofReports(reservations, need, from)
      if (found !== undefined) return found
    }
    for (const [platform, some] of Map.groupBy(needs, (need) => need.platform)) {
      const found = await ofApp(turn, platform, some, from)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function ofAccount(reservations: TurnReservations, need: BudgetNeed, at: number): Shortage | undefined {
  const { accountId, costMicros, limits, platform, replies } = need
  const countsReplies = limits.byId.has('replies.perDay')
  let near: readonly BookedTime[] | undefined
  for (const { rule, span, unit, weight } of BUDGETS) {
    const allowed = numberOf(limits, rule)
    const needed = weight({ replies, cost: costMicros }, countsReplies)
    if (allowed === undefined || needed === 0) continue
    near ??= [...reservations.between(accountId, at - DAY, at + DAY)]
    const counted = near.map((one) => ({ at: one.at, weight: weight(one, countsReplies) }))
    const used = mostAround(counted, at, span)
    if (used + needed <= allowed) continue
    const origin = limits.byId.get(rule)?.source.origin ?? 'rule'
    return { accountId, platform, scope: 'account', rule, allowed, used, needed, unit, origin, resetsAt: null }
  }
  return undefined
}

/** What the platform said is left, until the budget is full again. It knows of posts that were not made here. */
function ofReports(reservations: TurnReservations, need: BudgetNeed, at: number): Shortage | undefined {
  const { accountId, limits, platform, replies } = need
  const countsReplies = limits.byId.has('replies.perDay')
  for (const [name, { counts, remaining, reportedAt, resetsAt }] of Object.entries(need.reports)) {
    const [since, until] = [Date.parse(reportedAt), Date.parse(resetsAt)]
    if (counts === undefined || counts === 'app_posts' || at >= until) continue
    const weight = counts === 'replies' ? (one: { replies: number }) => one.replies : posts
    const needed = weight({ replies, cost: 0 }, countsReplies)
    // A reset is at most a day ahead, which is loaded.
    const planned = [...reservations.between(accountId, Math.max(since + 1, at - DAY), Math.min(until, at + DAY))]
    const used = planned.reduce((sum, one) => sum + weight(one, countsReplies), 0)
    if (needed === 0 || used + needed <= remaining) continue
    return {
      accountId,
      platform,
      scope: 'account',
      rule: name,
      allowed: remaining,
      used,
      needed,
      ...live(counts, resetsAt),
    }
  }
  return undefined
}

function live(unit: string, resetsAt: string) {
  return { unit, origin: 'live', resetsAt } as const
}

const APP_BUDGETS = [
  { rule: 'app.postsPerDay', countsReplies: true },
  { rule: 'app.uploadsPerDay', countsReplies: false },
] as const

/** The budgets that all accounts of this server share. */
async function ofApp(
  turn: PlanningScope,
  platform: string,
  needs: readonly BudgetNeed[],
  at: number,
): Promise<Shortage | undefined> {
  const [first] = needs
  if (first === undefined) return undefined
  const base = { accountId: first.accountId, platform, scope: 'app' } as const
  const neededBy = (countsReplies: boolean) =>
    needs.reduce((sum, { replies }) => sum + 1 + (countsReplies ? replies : 0), 0)
  for (const { countsReplies, rule } of APP_BUDGETS) {
    const allowed = numberOf(first.limits, rule)
    if (allowed === undefined) continue
    const needed = neededBy(countsReplies)
    const uses = await appUses(turn, { platform, at, allowed })
    const used = mostAround(countsReplies ? uses : uses.map((one) => ({ at: one.at, weight: one.posts })), at, DAY)
    if (used + needed <= allowed) continue
    const origin = first.limits.byId.get(rule)?.source.origin ?? 'rule'
    return { ...base, rule, allowed, used, needed, unit: 'posts in 24 hours', origin, resetsAt: null }
  }
  for (const [rule, { counts, remaining: allowed, reportedAt, resetsAt }] of needs.flatMap(({ reports }) => {
    return Object.entries(reports)
  })) {
    const [since, until] = [Date.parse(reportedAt), Date.parse(resetsAt)]
    if (counts !== 'app_posts' || at >= until) continue
    const needed = neededBy(true)
    const uses = (await appUses(turn, { platform, at, allowed })).filter((one) => one.at > since && one.at < until)
    const used = uses.reduce((sum, { weight }) => sum + weight, 0)
    if (used + needed > allowed) return { ...base, rule, allowed, used, needed, ...live('posts', resetsAt) }
  }
  return undefined
}
