import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Transaction } from '../../../core/sql.ts'
import type { Database } from '../../../db/database.ts'
import type { PlanName } from '../../identity/users/index.ts'
import { PLANS, TrialUsed, type PlanService, type SubscriptionRow, type Term } from '../plans/index.ts'
import { CURRENCY } from './currency.ts'
import { planTitle } from './descriptions.ts'
import type { AccountFitting } from './fitting.ts'
import { isLarger } from './planned-change.ts'
import { after, type SubscriptionEvent, type SubscriptionState } from './states.ts'
import { billingCycles } from './tables.ts'

/** The length of a free trial. */
export const TRIAL_MS = 14 * DAY
/** How long before its end a mail mentions it. */
const REMINDER_MS = 3 * DAY

type Changes = Parameters<PlanService['update']>[2]

interface Options {
  readonly database: Database
  readonly clock: Clock
  readonly plans: PlanService
  readonly fitting: AccountFitting
  /** Ends a subscription whose paid time is over. */
  readonly expire: (tx: Transaction, userId: string) => Promise<void>
  /** Those of the social accounts that are in workspaces of the user. */
  readonly ownAccounts: (userId: string, ids: readonly string[]) => Promise<ReadonlySet<string>>
  /** Records that a user begins a trial. @throws AppError trial_used */
  readonly beginTrial: (tx: Transaction, userId: string) => Promise<void>
}

/** Changes of a subscription that cost nothing when they are made. */
export class Subscriptions {
  readonly #database: Database
  readonly #clock: Clock
  readonly #plans: PlanService
  readonly #expire: Options['expire']
  readonly #ownAccounts: Options['ownAccounts']
  readonly #fitting: AccountFitting
  readonly #beginTrial: Options['beginTrial']

  constructor({ beginTrial, clock, database, expire, fitting, ownAccounts, plans }: Options) {
    this.#database = database
    this.#clock = clock
    this.#plans = plans
    this.#expire = expire
    this.#ownAccounts = ownAccounts
    this.#fitting = fitting
    this.#beginTrial = beginTrial
  }

  /**
   * Starts the free trial of a plan, or changes the plan of the trial.
   * @throws AppError trial_used; conflict for a user with a paid plan
   */
  async select(userId: string, plan: PlanName, term: Term): Promise<void> {
    await this.#change(userId, async (row, tx) => {
      if (plan === row.plan && row.periodEnd === null) return {}
      if (PLANS[plan].prices.month.amount === 0) {
        throw Conflict({ message: 'You have a paid plan. To leave it, cancel the subscription.' })
      }
      const isTrial = row.status === 'trialing'
      if (!isTrial) await this.#requireTrial(tx, row)
      const now = this.#clock.now()
      const end = isTrial ? Date.parse(row.periodEnd ?? '') : now + TRIAL_MS
      const ended = { replacedAt: new Date(now), updatedAt: new Date(now) }
      await billingCycles.update(tx, { userId, kind: 'trial', replacedAt: null }, ended)
      await billingCycles.insert(tx, {
        id: uuidv7(now),
        userId,
        kind: 'trial',
        plan,
        term,
        extraAccounts: 0,
        startsAt: new Date(now),
        endsAt: new Date(end),
        replacedAt: null,
        net: 0,
        discount: 0,
        currency: CURRENCY,
        couponId: null,
        paymentId: null,
        quote: null,
        createdAt: new Date(now),
        updatedAt: new Date(now),
      })
      await this.#fitting.after(tx, row, { plan, extraAccounts: 0 })
      return {
        ...this.#moved(row, 'trial_started'),
        plan,
        term,
        extraAccounts: 0,
        ...(isTrial
          ? {}
          : {
              anchorAt: new Date(now),
              periodStart: new Date(now),
              dueAt: new Date(end - REMINDER_MS),
              remindAt: new Date(end - REMINDER_MS),
            }),
        periodEnd: new Date(end),
        trialEndsAt: new Date(end),
        version: row.version + 1,
      }
    })
  }

  /** Whether another cycle follows. Repeating it changes nothing. @throws AppError conflict on a plan without cycles */
  async setRecurring(userId: string, enabled: boolean): Promise<void> {
    await this.#change(userId, async (row, tx) => {
      if (row.periodEnd === null) throw Conflict({ message: 'This plan costs nothing, so nothing is charged.' })
      const isOff = row.status === 'cancelled'
      if (enabled === !isOff) return {}
      if (enabled) return this.#moved(row, row.periodEnd === row.trialEndsAt ? 'trial_resumed' : 'resumed')
      if (row.status === 'past_due') {
        await this.#expire(tx, userId)
        return {}
      }
      return { ...this.#moved(row, 'cancelled'), nextPlan: null, keepAccountIds: null }
    })
  }

  /** The term of the next cycle. */
  async setTerm(userId: string, term: Term): Promise<void> {
    await this.#change(userId, async (row) => {
      if (row.periodEnd === null) throw Conflict({ message: 'This plan costs nothing, so it has no term.' })
      return { term }
    })
  }

  /** Plans a smaller plan for the end of the cycle. @throws AppError conflict */
  async downgrade(userId: string, plan: PlanName, keepAccountIds: readonly string[] | null): Promise<void> {
    await this.#change(userId, async (row) => {
      if (row.periodEnd === null || row.status === 'trialing') {
        throw Conflict({ message: 'Nothing is paid yet. Use POST /api/billing/select-plan.' })
      }
      if (row.status === 'cancelled') {
        throw Conflict({ message: 'The subscription ends with this cycle, so no plan follows it.' })
      }
      if (!isLarger(row.plan, plan)) {
        throw Conflict({ message: `The ${planTitle(plan)} plan is not smaller than the ${planTitle(row.plan)} plan.` })
      }
      if (PLANS[plan].prices.month.amount === 0) {
        throw Conflict({
          message: `The ${planTitle(plan)} plan costs nothing. To move to it, cancel the subscription.`,
        })
      }
      if (keepAccountIds !== null) await this.#requireOwn(userId, keepAccountIds)
      const most = this.#plans.limitsOn(plan, row.extraAccounts - row.extraRemoval).socialAccounts
      if (keepAccountIds !== null && keepAccountIds.length > most) {
        throw Conflict({ message: `The ${planTitle(plan)} plan allows ${most} social accounts.` })
      }
      return { nextPlan: plan, keepAccountIds: keepAccountIds === null ? null : [...keepAccountIds] }
    })
  }

  /** The plan stays. Repeating it changes nothing. */
  async cancelDowngrade(userId: string): Promise<void> {
    await this.#change(userId, async () => ({ nextPlan: null, keepAccountIds: null }))
  }

  /** Ends extra accounts with the cycle. @throws AppError conflict if there are fewer */
  async removeExtraAccounts(userId: string, count: number): Promise<void> {
    await this.#change(userId, async ({ extraAccounts, extraRemoval }) => {
      const left = extraAccounts - extraRemoval
      if (count > left) {
        const message = `There are ${left} extra accounts that do not end with this cycle.`
        throw Conflict({ message, details: { extraAccounts, ending: extraRemoval } })
      }
      return { extraRemoval: extraRemoval + count }
    })
  }

  /** Keeps the extra accounts that would end with the cycle. @throws AppError conflict if none would */
  async keepExtraAccounts(userId: string): Promise<void> {
    await this.#change(userId, async ({ extraRemoval }) => {
      if (extraRemoval === 0) throw Conflict({ message: 'No extra account ends with this cycle.' })
      return { extraRemoval: 0 }
    })
  }

  /** @throws AppError trial_used, conflict */
  async #requireTrial(tx: Transaction, row: SubscriptionRow): Promise<void> {
    if (row.trialEndsAt !== null) {
      const message = 'You have used the free trial. Use POST /api/billing/upgrade.'
      throw TrialUsed({ message, details: { reason: 'account' } })
    }
    if (row.periodEnd !== null) {
      throw Conflict({ message: 'You have a paid plan. To change it, use POST /api/billing/upgrade.' })
    }
    this.#moved(row, 'trial_started')
    await this.#beginTrial(tx, row.userId)
  }

  /** @throws AppError validation_failed for an account of somebody else */
  async #requireOwn(userId: string, ids: readonly string[]): Promise<void> {
    const owned = await this.#ownAccounts(userId, ids)
    const other = ids.findIndex((id) => !owned.has(id))
    if (other === -1) return
    const path = `/body/keepAccountIds/${other}`
    throw ValidationFailed({ errors: [{ path, code: 'unknown', message: 'is not an account of your workspaces' }] })
  }

  async #change(userId: string, decide: (row: SubscriptionRow, tx: Transaction) => Promise<Changes>): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const row = await this.#plans.subscription(tx, userId, { lock: true })
      const changes = await decide(row, tx)
      if (Object.keys(changes).length === 0) return
      await this.#plans.update(tx, userId, changes)
      tx.afterCommit(() => this.#plans.changed(userId))
    })
  }

  #moved({ status }: SubscriptionRow, event: SubscriptionEvent): { status: SubscriptionState } {
    const next = after(status, event)
    if (next === undefined) throw Conflict({ message: `This is not possible while the subscription is ${status}.` })
    return { status: next }
  }
}
