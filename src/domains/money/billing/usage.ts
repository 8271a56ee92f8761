import type { Clock } from '../../../core/clock.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlanService } from '../plans/index.ts'
import type { Usage } from './schemas.ts'

type UsageData = Static<typeof Usage>
type UsageName = UsageData['items'][number]['name']

/** Reads what a user has used of something. */
export type Meter = (userId: string) => Promise<number>

/** What a user has used of everything that is metered, and the limits. */
export class BillingUsage {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #plans: PlanService
  readonly #meters: Readonly<Record<UsageName, Meter>>

  constructor(sql: Sql, clock: Clock, plans: PlanService, meters: Readonly<Record<UsageName, Meter>>) {
    this.#sql = sql
    this.#clock = clock
    this.#plans = plans
    this.#meters = meters
  }

  async of(userId: string): Promise<UsageData> {
    const names = Object.keys(this.#meters) as UsageName[]
    const [allowance, month, ...used] = await Promise.all([
      this.#plans.limitsOf(userId),
      this.#plans.creditMonthOf(this.#sql, userId),
      ...names.map((name) => this.#meters[name](userId)),
    ])
    const endDate = new Date(month.end).toISOString()
    const resets: Partial<Record<UsageName, string>> = {
      streamingMinutesPerMonth: startOfNextMonth(this.#clock.now()),
      aiCreditsPerMonth: endDate,
      rendersPerMonth: startOfNextMonth(this.#clock.now()),
    }
    return {
      startDate: new Date(month.start).toISOString(),
      endDate,
      items: names.map((name, index) => {
        const [limit, count] = [allowance[name], used[index] ?? 0]
        return { name, used: count, limit, left: Math.max(0, limit - count), resetsAt: resets[name] ?? null }
      }),
    }
  }
}

function startOfNextMonth(now: number): string {
  const at = new Date(now)
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)).toISOString()
}
