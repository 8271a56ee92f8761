import type { Static } from 'typebox'
import type { Clock } from '../core/clock.ts'
import type { AppError } from '../core/error.ts'
import { PlanLimit } from '../core/errors.ts'
import type { Sql } from '../core/sql.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { NoticeCache } from '../coordination/notice-cache.ts'
import { cycleAt } from './cycle.ts'
import { PLANS, type LimitName, type Plan, type PlanLimits, type PlanName } from './plans.ts'
import type { SubscriptionSummary } from './schemas.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly plans: PlanService
  }
}

/** What a user may use, and the plan that says so. */
export interface Allowance extends PlanLimits {
  readonly plan: PlanName
}

interface SubscriptionRow {
  plan: PlanName
  status: Static<typeof SubscriptionSummary>['status']
  anchor_at: string
  credits_used: number
  credits_since: string
}

/** Which plan a user is on, and what it allows. Every user has a subscription from sign-up on. */
export class PlanService {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #plans: NoticeCache<PlanName>

  constructor(sql: Sql, clock: Clock, coordination: Coordination) {
    this.#sql = sql
    this.#clock = clock
    this.#plans = new NoticeCache({ name: 'plan', coordination, clock, load: (userId) => this.#planOf(userId) })
  }

  all(): Plan[] {
    return Object.values(PLANS)
  }

  /** Puts a new user on a plan. @param sql the transaction that makes the user */
  async start(sql: Sql, userId: string, plan: PlanName): Promise<void> {
    const now = new Date(this.#clock.now())
    await sql.run(
      `insert into subscriptions (user_id, plan, status, anchor_at, credits_used, credits_since, created_at, updated_at)
       values ($1, $3, 'active', $2, 0, $2, $2, $2) on conflict do nothing`,
      [userId, now, plan],
    )
  }

  /** @param sql the transaction that made the user, when it is not committed yet */
  async subscriptionOf(userId: string, sql: Sql = this.#sql): Promise<Static<typeof SubscriptionSummary>> {
    const row = await sql.row<SubscriptionRow>(
      'select plan, status, anchor_at, credits_used, credits_since from subscriptions where user_id = $1',
      [userId],
    )
    if (row === undefined) throw new Error(`user ${userId} has no subscription`)
    const { start, end } = cycleAt(Date.parse(row.anchor_at), this.#clock.now())
    const creditsPerMonth = PLANS[row.plan].limits.aiCreditsPerMonth
    // Credits that were used in an earlier month count no longer.
    const used = Date.parse(row.credits_since) >= start ? row.credits_used : 0
    return {
      plan: row.plan,
      status: row.status,
      creditsRemaining: Math.max(0, creditsPerMonth - used),
      creditsPerMonth,
      startDate: new Date(start).toISOString(),
      endDate: new Date(end).toISOString(),
    }
  }

  /** From memory when it is known; at most 30 s old where a notice got lost. */
  async limitsOf(userId: string): Promise<Allowance> {
    return this.#allowance(userId, await this.#plans.find(userId))
  }

  /**
   * The limits, with the user's subscription locked until the transaction ends: who counts and adds under this lock
   * cannot be overtaken by another of the user's requests.
   */
  async lockLimitsOf(sql: Sql, userId: string): Promise<Allowance> {
    const row = await sql.row<{ plan: PlanName }>(
      'select plan from subscriptions where user_id = $1 for no key update',
      [userId],
    )
    return this.#allowance(userId, row?.plan)
  }

  /** The 402 that says which limit was reached, its value and what is used. */
  limitError(allowance: Allowance, limit: LimitName, used: number, message: string): AppError {
    return PlanLimit({ message, details: { limit, value: allowance[limit], used, plan: allowance.plan } })
  }

  /** Puts a user on another plan at once; the cycle stays. Charging is the caller's business. */
  async change(userId: string, plan: PlanName): Promise<void> {
    await this.#sql.run('update subscriptions set plan = $2, updated_at = $3 where user_id = $1', [
      userId,
      plan,
      new Date(this.#clock.now()),
    ])
    this.#plans.invalidate(userId)
  }

  close(): void {
    this.#plans.close()
  }

  async #planOf(userId: string): Promise<PlanName | undefined> {
    const row = await this.#sql.row<{ plan: PlanName }>('select plan from subscriptions where user_id = $1', [userId])
    return row?.plan
  }

  #allowance(userId: string, plan: PlanName | undefined): Allowance {
    if (plan === undefined) throw new Error(`user ${userId} has no subscription`)
    return { plan, ...PLANS[plan].limits }
  }
}
