import { NoticeCache } from '../../../coordination/notice-cache.ts'
import type { Clock } from '../../../core/clock.ts'
import type { AppError } from '../../../core/error.ts'
import { NotFound, PlanLimit } from '../../../core/errors.ts'
import { Provided } from '../../../core/provided.ts'
import type { Sql } from '../../../core/sql.ts'
import { atMost } from '../../../db/condition.ts'
import type { Changes, FindOptions } from '../../../db/table.ts'
import type { Foundation } from '../../../foundation.ts'
import { PLAN_NAMES, type PlanName, type SubscriptionData, type Subscriptions } from '../../identity/users/index.ts'
import { cycleAt, type Cycle } from './cycle.ts'
import { largerPlan, nextStep, planLabel } from './next-step.ts'
import {
  PLANS,
  trialOf,
  UNLIMITED,
  type DefaultPlan,
  type LimitName,
  type Plan,
  type PlanLimits,
  type TrialLimits,
} from './plans.ts'
import { subscriptions, type SubscriptionRow } from './tables.ts'

/** The parts of a subscription that decide its limits. */
type Granted = Pick<SubscriptionRow, 'plan' | 'extraAccounts' | 'periodEnd' | 'trialEndsAt'>

const GRANTED = ['plan', 'extraAccounts', 'periodEnd', 'trialEndsAt'] as const

/** Of a subscription that is not a trial. */
const PAID = { periodEnd: null, trialEndsAt: null } as const

/** What a user may use, and the plan that grants it. */
export interface Allowance extends PlanLimits {
  readonly plan: PlanName
  /** Nothing is paid yet, so the limits of trials apply. */
  readonly isTrial: boolean
}

/** A plan as it is sold here. */
export interface OfferedPlan extends Plan {
  /** What its trial allows. Null if the plan costs nothing. */
  readonly trialLimits: PlanLimits | null
}

/** A month of a subscription, in milliseconds since the epoch, and the credits that the plan grants for it. */
export interface CreditMonth extends Cycle {
  readonly perMonth: number
  /** What the operator can do about too few credits, as `hintFor` says. */
  readonly hint: string | undefined
}

type CreditsOf = (sql: Sql, userId: string, month: CreditMonth) => Promise<number>

/** Limits that are counted for each workspace, as error messages name them. */
const COUNTED = {
  streams: 'streams in a workspace',
  rtmpDestinations: 'RTMP destinations in a workspace',
  folders: 'folders in a workspace',
  openUploads: 'uploads at once in a workspace',
  tags: 'different tags in a workspace',
  channels: 'channels in a workspace, including archived ones',
  directConversations: 'direct conversations in a workspace',
  groups: 'groups in a workspace',
  roles: 'custom roles in a workspace',
  webhooks: 'webhooks in a workspace',
  openPosts: 'posts in a workspace that are not published yet',
  recurringPosts: 'recurring posts in a workspace',
  reportSchedules: 'schedules of reports in a workspace',
} as const satisfies Partial<Record<LimitName, string>>

const DEFAULT_PLAN_HINT =
  'The setting DEFAULT_PLAN is the plan of new users. DEFAULT_PLAN=unlimited turns the limits of plans off for everyone.'

type CountedLimit = keyof typeof COUNTED
type Subscription = typeof subscriptions.entity

/**
 * Which plan a user is on, and what it allows. Every user has a subscription from sign-up on. A user without one (an
 * imported account, or a row deleted by hand) gets the default plan.
 */
export class PlanService implements Subscriptions {
  /** Finds the user whose plan a workspace counts against. */
  readonly payerOf = new Provided<(workspaceId: string) => Promise<string | undefined>>('the payers of workspaces')
  /** Counts the credits that a user can use now. The ledger keeps them. */
  readonly creditsOf = new Provided<CreditsOf>('the credits of users')
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #plans: NoticeCache<Granted>
  /** The payer of each workspace. Cached, because turns that do not read share one round trip. */
  readonly #payers: NoticeCache<string>
  readonly #default: DefaultPlan
  readonly #trial: TrialLimits

  constructor({ clock, config, coordination, database }: Foundation) {
    this.#default = config.DEFAULT_PLAN
    this.#trial = config.TRIAL_LIMITS
    this.#sql = database
    this.#clock = clock
    this.#plans = new NoticeCache({ name: 'plan', coordination, clock, load: (userId) => this.#grantedTo(userId) })
    this.#payers = new NoticeCache({ name: 'payer', coordination, clock, load: (id) => this.payerOf.get()(id) })
  }

  all(): OfferedPlan[] {
    return Object.values(PLANS).map((plan) => {
      return { ...plan, trialLimits: plan.prices.month.amount === 0 ? null : this.#limits(plan.name, true) }
    })
  }

  async start(sql: Sql, userId: string, plan: PlanName = this.basePlan): Promise<void> {
    const now = new Date(this.#clock.now())
    const times = { anchorAt: now, createdAt: now, updatedAt: now }
    await subscriptions.insert(sql, { userId, plan, status: 'active', ...times }, { ignoreConflict: true })
  }

  async subscriptionOf(userId: string, sql: Sql = this.#sql): Promise<SubscriptionData> {
    const row = await this.#subscription(sql, userId, {})
    const { periodEnd, periodStart, plan, status } = row
    const month = this.#monthOf(row)
    return {
      plan,
      status,
      creditsRemaining: await this.creditsOf.get()(sql, userId, month),
      creditsPerMonth: month.perMonth,
      startDate: periodStart ?? new Date(month.start).toISOString(),
      endDate: periodEnd ?? new Date(month.end).toISOString(),
    }
  }

  /** The current month of a user's subscription, and the credits that the plan grants for it. */
  async creditMonthOf(sql: Sql, userId: string): Promise<CreditMonth> {
    return this.#monthOf(await this.#subscription(sql, userId, { columns: ['anchorAt', ...GRANTED] }))
  }

  /** The limits of a user. Cached; at most 30 s old if a notice is lost. */
  async limitsOf(userId: string): Promise<Allowance> {
    return this.#allowance((await this.#plans.find(userId)) ?? { plan: this.basePlan, extraAccounts: 0, ...PAID })
  }

  /** The limits that a user would have on a paid plan. */
  limitsOn(plan: PlanName, extraAccounts = 0): Allowance {
    return this.#allowance({ plan, extraAccounts, ...PAID })
  }

  /**
   * The limits of a user, with the subscription locked until the transaction ends, so that concurrent requests of the
   * user cannot exceed a limit together.
   */
  async lockLimitsOf(sql: Sql, userId: string): Promise<Allowance> {
    return this.#allowance(await this.#subscription(sql, userId, { columns: [...GRANTED], lock: 'for no key update' }))
  }

  /** The subscription of a user. Locked until the transaction ends if `lock` is set. */
  subscription(sql: Sql, userId: string, { lock = false }: { readonly lock?: boolean } = {}): Promise<SubscriptionRow> {
    return this.#subscription(sql, userId, lock ? { lock: 'for no key update' } : {})
  }

  /** Changes a subscription that the transaction has locked. Call `changed` after the commit. */
  async update(sql: Sql, userId: string, changes: Changes<Subscription>): Promise<void> {
    await subscriptions.update(sql, { userId }, { ...changes, updatedAt: new Date(this.#clock.now()) })
  }

  /** The users whose subscription needs something by now, the most overdue first. */
  async due(sql: Sql, limit: number): Promise<Pick<SubscriptionRow, 'userId' | 'dueAt'>[]> {
    return subscriptions.find(
      sql,
      { dueAt: atMost(new Date(this.#clock.now())) },
      { columns: ['userId', 'dueAt'], orderBy: ['dueAt asc'], limit },
    )
  }

  /** A subscription has other limits. Call it after the commit. */
  changed(userId: string): void {
    this.#plans.invalidate(userId)
  }

  /**
   * The 402 that names the limit that was reached, its value, the current usage, and the next step. For the plan of new
   * users, administrators of the server also learn how to set another one.
   * @param message what the plan allows. The next step is added
   */
  limitError(allowance: Allowance, limit: LimitName, used: number, message: string): AppError {
    const { isTrial, plan } = allowance
    const details = { limit, value: allowance[limit], used, plan, isTrial }
    // A trial allows more once its own plan is paid.
    const larger = isTrial && PLANS[plan].limits[limit] > allowance[limit] ? PLANS[plan] : largerPlan(allowance, limit)
    return PlanLimit({
      message: `${message} ${nextStep(allowance, limit)}`,
      details: larger === undefined ? details : { ...details, nextPlan: larger.name },
      hint: this.hintFor(allowance),
    })
  }

  /** What the operator can do about a limit of the plan of new users; undefined for another plan. */
  hintFor({ plan }: Pick<Allowance, 'plan'>): string | undefined {
    return plan === this.basePlan ? DEFAULT_PLAN_HINT : undefined
  }

  /**
   * Checks that a workspace can have more of something. Reads nothing while every plan allows the number. Call it in a
   * turn or under `lockLimitsOf`, so that nothing else adds one at the same time.
   * @param used how many there are
   * @param more how many are added
   * @throws AppError plan_limit_reached
   */
  async requireRoom(workspaceId: string, limit: CountedLimit, used: number, more = 1): Promise<void> {
    const shortage = await this.shortage(workspaceId, limit, used, more)
    if (shortage !== undefined) throw shortage.error
  }

  /** The limit that a workspace would exceed, and the error for it; undefined if it has room. See `requireRoom`. */
  async shortage(
    workspaceId: string,
    limit: CountedLimit,
    used: number,
    more = 1,
  ): Promise<{ readonly most: number; readonly error: AppError } | undefined> {
    const allowance = await this.#exceeded(workspaceId, limit, used + more)
    if (allowance === undefined) return undefined
    const most = allowance[limit]
    const message = `The ${planLabel(allowance)} allows ${most} ${COUNTED[limit]}; there are ${used}.`
    return { most, error: this.limitError(allowance, limit, used, message) }
  }

  /** Whether a workspace can have more of something. See `requireRoom`. */
  async hasRoom(workspaceId: string, limit: CountedLimit, used: number, more = 1): Promise<boolean> {
    return (await this.#exceeded(workspaceId, limit, used + more)) === undefined
  }

  /** The allowance of a workspace that does not cover a number; undefined if it does. */
  async #exceeded(workspaceId: string, limit: CountedLimit, count: number): Promise<Allowance | undefined> {
    if (PLAN_NAMES.every((name) => count <= PLANS[name].limits[limit]) && count <= (this.#trial[limit] ?? count)) {
      return undefined
    }
    const payerId = await this.#payers.find(workspaceId)
    if (payerId === undefined) throw NotFound()
    const allowance = await this.limitsOf(payerId)
    return count <= allowance[limit] ? undefined : allowance
  }

  /** Puts a user on another plan. The billing cycle stays the same; charging is up to the caller. */
  async change(userId: string, plan: PlanName): Promise<void> {
    await subscriptions.update(this.#sql, { userId }, { plan, updatedAt: new Date(this.#clock.now()) })
    this.changed(userId)
  }

  /** A workspace has another payer. Call it after the commit. */
  payerChanged(workspaceId: string): void {
    this.#payers.invalidate(workspaceId)
  }

  close(): void {
    this.#payers.close()
    this.#plans.close()
  }

  async #grantedTo(userId: string): Promise<Granted | undefined> {
    return subscriptions.first(this.#sql, { userId }, { columns: [...GRANTED] })
  }

  /** A first cycle that is paid ahead of the end of the trial begins its month now, so that it grants its credits once. */
  #monthOf({ anchorAt, ...granted }: Granted & Pick<SubscriptionRow, 'anchorAt'>): CreditMonth {
    const anchor = Date.parse(anchorAt)
    const now = this.#clock.now()
    const { start } = cycleAt(anchor, now)
    const { end } = cycleAt(anchor, Math.max(anchor, now))
    const allowance = this.#allowance(granted)
    return { start, end, perMonth: allowance.aiCreditsPerMonth, hint: this.hintFor(allowance) }
  }

  #limits(plan: PlanName, isTrial = false): PlanLimits {
    if (this.#default === 'unlimited') return UNLIMITED
    const { limits } = PLANS[plan]
    return isTrial ? trialOf(limits, PLANS[this.#default].limits, this.#trial) : limits
  }

  /** The plan that costs nothing here: of new users, and of those whose paid plan has ended. */
  get basePlan(): PlanName {
    return this.#default === 'unlimited' ? 'business' : this.#default
  }

  /** The subscription of a user. It starts now if there is none. */
  async #subscription<K extends keyof SubscriptionRow = keyof SubscriptionRow>(
    sql: Sql,
    userId: string,
    options: Pick<FindOptions<Subscription, K>, 'columns' | 'lock'>,
  ): Promise<Pick<SubscriptionRow, K>> {
    const found = await subscriptions.first(sql, { userId }, options)
    if (found !== undefined) return found
    await this.start(sql, userId)
    const started = await subscriptions.first(sql, { userId }, options)
    if (started === undefined) throw new Error(`the subscription of ${userId} could not be started`)
    return started
  }

  #allowance({ extraAccounts, periodEnd, plan, trialEndsAt }: Granted): Allowance {
    const isTrial = periodEnd !== null && periodEnd === trialEndsAt
    const limits = this.#limits(plan, isTrial)
    return { plan, isTrial, ...limits, socialAccounts: limits.socialAccounts + extraAccounts }
  }
}
