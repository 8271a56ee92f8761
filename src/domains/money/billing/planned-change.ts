import { Conflict } from '../../../core/errors.ts'
import { PLAN_NAMES, type PlanName } from '../../identity/users/index.ts'
import { PLANS, TERM_MONTHS, type Term } from '../plans/index.ts'
import { cycleFrom, cyclesFrom, cycleUntil, leftOf, leftSince, type Period, type Share } from './cycles.ts'
import { fullExtras, fullPlan, planTitle, restOf, restOfExtras, unusedPart } from './descriptions.ts'
import type { QuoteItem } from './quote.ts'
import type { SubscriptionState } from './states.ts'

/** A cycle that is paid and not over. */
export interface PaidCycle extends Period {
  readonly id: string
  readonly plan: PlanName
  readonly term: Term
  readonly extraAccounts: number
  readonly net: number
  /** What a coupon has taken off its price. */
  readonly discount: number
  readonly couponId: string | null
}

/** A subscription as it is now. Times are milliseconds since the epoch. */
export interface Standing {
  readonly status: SubscriptionState
  readonly plan: PlanName
  /** The term of the next cycle. */
  readonly term: Term
  readonly anchor: number
  /** The end of what is tried or paid. */
  readonly periodEnd: number | null
  /** Nothing but the trial was used yet. */
  readonly isTrial: boolean
  readonly extraAccounts: number
  readonly extraRemoval: number
  readonly nextPlan: PlanName | null
  /** Paid cycles that are not over, oldest first. */
  readonly paid: readonly PaidCycle[]
}

/** A cycle that the change adds. Without a period it begins when the change is settled. */
export interface NewCycle {
  readonly plan: PlanName
  readonly term: Term
  readonly extraAccounts: number
  readonly period: Period | null
}

/** What a change of a subscription does once it is paid. */
export interface PlannedChange {
  readonly event: 'started' | 'changed' | 'renewed'
  readonly plan: PlanName
  readonly term: Term
  readonly extraAccounts: number
  readonly cycles: readonly NewCycle[]
  /** Cycles that end now, because others replace them. */
  readonly replaces: readonly string[]
  /** The moment from which cycles are counted. Null if that is the settlement. */
  readonly anchor: number | null
  readonly items: readonly QuoteItem[]
}

/** What a customer wants. What is absent stays as it is. */
export interface UpgradeRequest {
  readonly planName?: PlanName | undefined
  readonly term?: Term | undefined
  readonly extraAccounts?: number | undefined
}

/** A larger plan or more accounts, at once. @throws AppError conflict if it is not a change for more */
export function planUpgrade(standing: Standing, request: UpgradeRequest, now: number): PlannedChange {
  const { paid, status } = standing
  if (status === 'past_due') {
    throw Conflict({ message: 'A payment for the current plan is due. Pay it first: POST /api/subscriptions/renew.' })
  }
  const [current] = paid
  if (current === undefined) return planStart(standing, request)
  const plan = request.planName ?? standing.plan
  const term = request.term ?? current.term
  const extraAccounts = request.extraAccounts ?? standing.extraAccounts
  requireSold(plan, extraAccounts)
  requireMore(standing, current, { plan, term, extraAccounts })
  const unused = paid.map((cycle) => unusedOf(standing.anchor, cycle, now))
  const replaces = paid.map(({ id }) => id)
  if (term !== current.term) {
    const cycle = { plan, term, extraAccounts, period: null }
    return {
      event: 'started',
      ...cycle,
      cycles: [cycle],
      replaces,
      anchor: null,
      items: [...full(cycle, 0), ...unused],
    }
  }
  const cycles = paid.map((cycle) => {
    const period = { start: Math.max(now, cycle.start), end: cycle.end }
    const share = leftOf(cycleUntil(standing.anchor, cycle.end, cycle.term), now)
    return { plan, term: cycle.term, extraAccounts, period, share }
  })
  const bought = cycles.flatMap((cycle, index) => rest(cycle, index))
  return {
    event: 'changed',
    plan,
    term: standing.term,
    extraAccounts,
    cycles: cycles.map(({ share: _share, ...cycle }) => cycle),
    replaces,
    anchor: standing.anchor,
    items: [...bought, ...unused],
  }
}

/** The first cycle of a paid plan. */
function planStart(standing: Standing, request: UpgradeRequest): PlannedChange {
  const plan = request.planName ?? standing.plan
  const extraAccounts = request.extraAccounts ?? standing.extraAccounts
  requireSold(plan, extraAccounts)
  const cycle = { plan, term: request.term ?? standing.term, extraAccounts, period: null }
  return { event: 'started', ...cycle, cycles: [cycle], replaces: [], anchor: null, items: full(cycle, 0) }
}

/**
 * The next cycles, from the end of what is paid. A smaller plan and removed accounts that were asked for before take
 * effect with them.
 * @throws AppError conflict if there is nothing to renew
 */
export function planRenewal(standing: Standing, terms: number, now: number): PlannedChange {
  const { periodEnd } = standing
  if (periodEnd === null) {
    throw Conflict({ message: 'There is no paid plan to renew. Choose one: POST /api/subscriptions/upgrade.' })
  }
  const isDue = periodEnd <= now
  if (!isDue && (standing.nextPlan !== null || standing.extraRemoval > 0)) {
    const message = 'A change is planned for the end of the cycle. Cancel it before you pay further cycles.'
    throw Conflict({ message })
  }
  const plan = standing.nextPlan ?? standing.plan
  const extraAccounts = PLANS[plan].extraAccountPrices === null ? 0 : standing.extraAccounts - standing.extraRemoval
  const { term } = standing
  requireSold(plan, extraAccounts)
  let anchor = standing.isTrial ? periodEnd : standing.anchor
  let start = periodEnd
  if (cycleFrom(anchor, start, term).end <= now) {
    // No node ran for a whole cycle. Nobody pays for that time.
    anchor = now
    start = now
  }
  const cycles = cyclesFrom(anchor, start, term, terms).map((period) => ({ plan, term, extraAccounts, period }))
  const items = cycles.flatMap((cycle, index) => full(cycle, index))
  return { event: 'renewed', plan, term, extraAccounts, cycles, replaces: [], anchor, items }
}

/** Whether a plan is larger than another. */
export function isLarger(plan: PlanName, other: PlanName): boolean {
  return PLAN_NAMES.indexOf(plan) > PLAN_NAMES.indexOf(other)
}

/** @throws AppError conflict when the plan costs nothing, or takes no extra accounts */
function requireSold(plan: PlanName, extraAccounts: number): void {
  if (PLANS[plan].prices.month.amount === 0) {
    throw Conflict({ message: `The ${planTitle(plan)} plan costs nothing. To move to it, cancel the subscription.` })
  }
  if (extraAccounts > 0 && PLANS[plan].extraAccountPrices === null) {
    throw Conflict({ message: `The ${planTitle(plan)} plan has no extra accounts.` })
  }
}

function requireMore(
  { extraAccounts, plan }: Standing,
  current: PaidCycle,
  wanted: { readonly plan: PlanName; readonly term: Term; readonly extraAccounts: number },
): void {
  if (wanted.plan !== plan && !isLarger(wanted.plan, plan)) {
    const message = `The ${planTitle(wanted.plan)} plan is smaller. Use POST /api/subscriptions/downgrade, which takes effect at the end of the cycle.`
    throw Conflict({ message })
  }
  if (TERM_MONTHS[wanted.term] < TERM_MONTHS[current.term]) {
    const message = 'A shorter term begins with the next cycle. Use PATCH /api/subscriptions/term.'
    throw Conflict({ message })
  }
  if (wanted.extraAccounts < extraAccounts) {
    const message = 'Extra accounts end with the cycle. Use POST /api/subscriptions/extra-accounts/remove.'
    throw Conflict({ message })
  }
  if (wanted.plan === plan && wanted.term === current.term && wanted.extraAccounts === extraAccounts) {
    throw Conflict({ message: `The subscription already includes this: ${planTitle(plan)} with this term.` })
  }
}

function full({ extraAccounts, period, plan, term }: NewCycle, cycle: number): QuoteItem[] {
  const known = period ?? undefined
  return [
    { kind: 'plan', ...fullPlan(plan, term, known), amount: PLANS[plan].prices[term].amount, cycle },
    ...(extraAccounts === 0
      ? []
      : [
          {
            kind: 'extra_accounts' as const,
            ...fullExtras(extraAccounts, term, known),
            amount: extrasPrice(plan, term, extraAccounts),
            cycle,
          },
        ]),
  ]
}

function rest(
  { extraAccounts, period, plan, share, term }: NewCycle & { readonly period: Period; readonly share: Share },
  cycle: number,
): QuoteItem[] {
  return [
    { kind: 'plan', ...restOf(plan, period), amount: PLANS[plan].prices[term].amount, share, cycle },
    ...(extraAccounts === 0
      ? []
      : [
          {
            kind: 'extra_accounts' as const,
            ...restOfExtras(extraAccounts, period),
            amount: extrasPrice(plan, term, extraAccounts),
            share,
            cycle,
          },
        ]),
  ]
}

function unusedOf(anchor: number, cycle: PaidCycle, now: number): QuoteItem {
  const period = { start: Math.max(now, cycle.start), end: cycle.end }
  return {
    kind: 'unused',
    ...unusedPart(cycle.plan, cycle.extraAccounts, period),
    period,
    amount: 0 - cycle.net,
    share: unusedShare(anchor, cycle, now),
  }
}

/** The part of a paid cycle that is not used yet. */
export function unusedShare(anchor: number, cycle: PaidCycle, now: number): Share {
  return leftSince(cycleUntil(anchor, cycle.end, cycle.term), cycle.start, now)
}

function extrasPrice(plan: PlanName, term: Term, count: number): number {
  return (PLANS[plan].extraAccountPrices?.[term].amount ?? 0) * count
}
