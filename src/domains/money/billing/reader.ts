import type { Clock } from '../../../core/clock.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Database } from '../../../db/database.ts'
import { findReaders } from '../../identity/users/index.ts'
import { documentLanguage, taxText, type BillingProfiles, type DocumentLanguage } from '../invoices/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { PLANS, type PlanService } from '../plans/index.ts'
import type { Pricing, BillingRequest } from './pricing.ts'
import { cycleFrom } from './cycles.ts'
import { quoteLineText } from './descriptions.ts'
import type { CycleData, ExtraAccountsView, ProrationView, QuoteView, SubscriptionViewData } from './schemas.ts'
import type { Quote } from './quote.ts'
import { billingCycles, type CycleRow } from './tables.ts'

/** What customers see of their subscription. */
export class BillingReader {
  readonly #database: Database
  readonly #clock: Clock
  readonly #plans: PlanService
  readonly #ledger: Ledger
  readonly #pricing: Pricing
  readonly #profiles: Pick<BillingProfiles, 'missing'>

  constructor(
    { clock, database }: { readonly clock: Clock; readonly database: Database },
    {
      ledger,
      plans,
      pricing,
      profiles,
    }: {
      readonly ledger: Ledger
      readonly plans: PlanService
      readonly pricing: Pricing
      readonly profiles: Pick<BillingProfiles, 'missing'>
    },
  ) {
    this.#database = database
    this.#clock = clock
    this.#plans = plans
    this.#ledger = ledger
    this.#pricing = pricing
    this.#profiles = profiles
  }

  async subscription(userId: string): Promise<SubscriptionViewData> {
    const [row, summary, credits] = await Promise.all([
      this.#plans.subscription(this.#database, userId),
      this.#plans.subscriptionOf(userId),
      this.#ledger.credits.balanceOf(this.#database, userId),
    ])
    const { createdAt, extraAccounts, keepAccountIds, nextPlan, periodEnd, status, term, trialEndsAt, updatedAt } = row
    const isRecurring = periodEnd !== null && status !== 'cancelled'
    return {
      ...summary,
      term,
      isRecurring,
      trialEndsAt,
      // Before its end, a trial is due for its reminder.
      nextChargeAt: isRecurring ? (row.remindAt === null ? row.dueAt : periodEnd) : null,
      nextPlan,
      keepAccountIds: keepAccountIds === null ? null : [...keepAccountIds],
      extraAccounts,
      credits,
      createdAt,
      updatedAt,
    }
  }

  /** @param accepted the Accept-Language header */
  async cycles(
    userId: string,
    query: { limit?: number; cursor?: string },
    accepted?: string,
  ): Promise<PageResult<CycleData>> {
    const language = await this.#languageOf(userId, accepted)
    const page = pageRequest(query)
    const rows = await billingCycles.page(this.#database, { userId }, page)
    return pageOf(
      rows,
      page.limit,
      (row) => row,
      (row) => cycleView(row, this.#clock.now(), language),
    )
  }

  /** @param accepted the Accept-Language header of the reader, who need not be the customer */
  async show(readerId: string, rows: readonly CycleRow[], accepted?: string): Promise<CycleData[]> {
    const language = await this.#languageOf(readerId, accepted)
    return rows.map((row) => cycleView(row, this.#clock.now(), language))
  }

  /**
   * What a change would cost now.
   * @param accepted the Accept-Language header
   * @throws AppError conflict, coupon_not_valid
   */
  async preview(userId: string, request: BillingRequest, accepted?: string): Promise<Static<typeof ProrationView>> {
    const [{ change, row }, missing, language] = await Promise.all([
      this.#pricing.price(this.#database, userId, request),
      this.#profiles.missing(this.#database, userId),
      this.#languageOf(userId, accepted),
    ])
    const now = this.#clock.now()
    const periods = change.cycles.map(({ period, term }) => period ?? cycleFrom(now, now, term))
    return {
      plan: change.plan,
      term: change.event === 'started' ? change.term : (change.cycles[0]?.term ?? row.term),
      extraAccounts: change.extraAccounts,
      startsAt: new Date(periods[0]?.start ?? now).toISOString(),
      endsAt: new Date(periods.at(-1)?.end ?? now).toISOString(),
      quote: quoteView(change.quote, language),
      // Without a charge there is no invoice.
      missingProfileFields: change.quote.total === 0 ? [] : missing,
    }
  }

  /** @param usedAccounts how many accounts count against the plan */
  async extraAccounts(userId: string, usedAccounts: number): Promise<Static<typeof ExtraAccountsView>> {
    const row = await this.#plans.subscription(this.#database, userId)
    const { extraAccounts, extraRemoval, periodEnd, plan, term } = row
    return {
      extraAccounts,
      ending: extraRemoval,
      endDate: periodEnd,
      includedAccounts: this.#plans.limitsOn(plan).socialAccounts,
      usedAccounts,
      price: PLANS[plan].extraAccountPrices?.[term] ?? null,
      term,
    }
  }

  /** The language of quotes: the one that the request prefers, or else that of the reader. */
  async #languageOf(userId: string, accepted: string | undefined): Promise<DocumentLanguage> {
    const [reader] = await findReaders(this.#database, [userId])
    return documentLanguage(accepted, reader?.language ?? 'en')
  }
}

/** A cycle as the API shows it. */
function cycleView(row: CycleRow, now: number, language: DocumentLanguage): CycleData {
  const [start, end] = [Date.parse(row.startsAt), Date.parse(row.endsAt)]
  const inTime = end <= now ? 'ended' : start > now ? 'upcoming' : 'current'
  return {
    _id: row.id,
    kind: row.kind,
    status: row.replacedAt === null ? inTime : 'replaced',
    plan: row.plan,
    term: row.term,
    extraAccounts: row.extraAccounts,
    startsAt: row.startsAt,
    endsAt: row.endsAt,
    replacedAt: row.replacedAt,
    netAmount: row.net,
    currency: row.currency,
    transactionId: row.paymentId,
    quote: row.quote === null ? null : quoteView(row.quote, language),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** Without what only invoices need of lines and taxes. */
function quoteView({ lines, taxes, ...quote }: Quote, language: DocumentLanguage): Static<typeof QuoteView> {
  return {
    ...quote,
    lines: lines.map((line) => ({ kind: line.kind, description: quoteLineText(line, language), amount: line.amount })),
    taxes: taxes.map((tax) => ({ description: taxText(tax, language.texts), amount: tax.amount })),
  }
}
