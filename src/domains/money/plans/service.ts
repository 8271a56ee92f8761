import type { Static } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import type { AppError } from '../../../core/error.ts'
import { NotFound, PlanLimit } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import { NoticeCache } from '../../../coordination/notice-cache.ts'
import { cycleAt } from './cycle.ts'
import {
  PLAN_NAMES,
  PLANS,
  UNLIMITED,
  type DefaultPlan,
  type LimitName,
  type Plan,
  type PlanLimits,
  type PlanName,
} from './plans.ts'
import type { SubscriptionSummary } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly plans: PlanService
  }
}

/** What a user may use, and the plan that says so. */
export interface Allowance extends PlanLimits {
  readonly plan: PlanName
}

/** What is counted by workspace, as messages name it. */
const COUNTED = {
  streams: 'streams in a workspace',
  rtmpDestinations: 'RTMP destinations in a workspace',
  folders: 'folders in a workspace',
  openUploads: 'uploads at once in a workspace',
  tags: 'different tags in a workspace',
  channels: 'channels in a workspace, archived ones included',
  directConversations: 'direct conversations in a workspace',
  groups: 'groups in a workspace',
  roles: 'roles of its own in a workspace',
} as const satisfies Partial<Record<LimitName, string>>

type CountedLimit = keyof typeof COUNTED

interface SubscriptionRow {
  plan: PlanName
  status: Static<typeof SubscriptionSummary>['status']
  anchor_at: string
  credits_used: number
  credits_since: string
}

/**
 * Which plan a user is on, and what it allows. Every user has a subscription from sign-up on. One who has none (an
 * imported account, a row that was deleted by hand) is on the plan that new users get.
 */
export class PlanService {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #plans: NoticeCache<PlanName>
  /** Who pays for a workspace. Kept, because turns that read nothing share one round trip. */
  readonly #owners: NoticeCache<string>
  readonly #byDefault: DefaultPlan

  constructor(sql: Sql, clock: Clock, coordination: Coordination, byDefault: DefaultPlan) {
    this.#byDefault = byDefault
    this.#sql = sql
    this.#clock = clock
    this.#plans = new NoticeCache({ name: 'plan', coordination, clock, load: (userId) => this.#planOf(userId) })
    this.#owners = new NoticeCache({
      name: 'payer',
      coordination,
      clock,
      load: (workspaceId) => this.#ownerOf(workspaceId),
    })
  }

  all(): Plan[] {
    return Object.values(PLANS)
  }

  /**
   * Puts a new user on a plan, without one on that of the settings.
   * @param sql the transaction that makes the user
   */
  async start(sql: Sql, userId: string, plan?: PlanName): Promise<void> {
    const now = new Date(this.#clock.now())
    await sql.run(
      `insert into subscriptions (user_id, plan, status, anchor_at, credits_used, credits_since, created_at, updated_at)
       values ($1, $3, 'active', $2, 0, $2, $2, $2) on conflict do nothing`,
      [userId, now, plan ?? this.#planOfNewUsers],
    )
  }

  /** @param sql the transaction that made the user, when it is not committed yet */
  async subscriptionOf(userId: string, sql: Sql = this.#sql): Promise<Static<typeof SubscriptionSummary>> {
    const row = await this.#startedRow<SubscriptionRow>(
      sql,
      userId,
      'select plan, status, anchor_at, credits_used, credits_since from subscriptions where user_id = $1',
    )
    const { start, end } = cycleAt(Date.parse(row.anchor_at), this.#clock.now())
    const creditsPerMonth = this.#limits(row.plan).aiCreditsPerMonth
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
    return this.#allowance((await this.#plans.find(userId)) ?? this.#planOfNewUsers)
  }

  /**
   * The limits, with the user's subscription locked until the transaction ends: who counts and adds under this lock
   * cannot be overtaken by another of the user's requests.
   */
  async lockLimitsOf(sql: Sql, userId: string): Promise<Allowance> {
    const { plan } = await this.#startedRow<{ plan: PlanName }>(
      sql,
      userId,
      'select plan from subscriptions where user_id = $1 for no key update',
    )
    return this.#allowance(plan)
  }

  /** The 402 that says which limit was reached, its value and what is used. */
  limitError(allowance: Allowance, limit: LimitName, used: number, message: string): AppError {
    return PlanLimit({ message, details: { limit, value: allowance[limit], used, plan: allowance.plan } })
  }

  /**
   * Room for more of what a workspace may have so many of. Nobody is asked for a plan where every plan allows it.
   * To be called where nobody else adds one at the same time: in a turn, or under `lockLimitsOf`.
   * @param used how many there are
   * @param more how many are added
   * @throws AppError plan_limit_reached
   */
  async requireRoom(workspaceId: string, limit: CountedLimit, used: number, more = 1): Promise<void> {
    if (PLAN_NAMES.every((name) => used + more <= PLANS[name].limits[limit])) return
    const ownerId = await this.#owners.find(workspaceId)
    if (ownerId === undefined) throw NotFound()
    const allowance = await this.limitsOf(ownerId)
    if (used + more <= allowance[limit]) return
    const message = `The ${allowance.plan} plan allows ${allowance[limit]} ${COUNTED[limit]}; there are ${used}.`
    throw this.limitError(allowance, limit, used, message)
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

  /** Somebody else pays for a workspace; to be called after the commit. */
  payerChanged(workspaceId: string): void {
    this.#owners.invalidate(workspaceId)
  }

  close(): void {
    this.#owners.close()
    this.#plans.close()
  }

  async #ownerOf(workspaceId: string): Promise<string | undefined> {
    const row = await this.#sql.row<{ owner_id: string }>('select owner_id from workspaces where id = $1', [
      workspaceId,
    ])
    return row?.owner_id
  }

  async #planOf(userId: string): Promise<PlanName | undefined> {
    const row = await this.#sql.row<{ plan: PlanName }>('select plan from subscriptions where user_id = $1', [userId])
    return row?.plan
  }

  #limits(plan: PlanName): PlanLimits {
    return this.#byDefault === 'unlimited' ? UNLIMITED : PLANS[plan].limits
  }

  get #planOfNewUsers(): PlanName {
    return this.#byDefault === 'unlimited' ? 'business' : this.#byDefault
  }

  /** A row of the user's subscription, which begins now when there is none. */
  async #startedRow<R extends object>(sql: Sql, userId: string, select: string): Promise<R> {
    const known = await sql.row<R>(select, [userId])
    if (known !== undefined) return known
    await this.start(sql, userId)
    const started = await sql.row<R>(select, [userId])
    if (started === undefined) throw new Error(`the subscription of ${userId} could not be started`)
    return started
  }

  #allowance(plan: PlanName): Allowance {
    return { plan, ...this.#limits(plan) }
  }
}
