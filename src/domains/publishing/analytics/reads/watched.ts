import type { Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { Analytics } from '../../../../platforms/analytics.ts'
import type { PlatformDirectory } from '../../../../platforms/directory.ts'
import { accountsOf, type ConnectedAccount } from '../../../social/accounts/index.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { isAccountFigure, type FigureName } from '../figures.ts'
import { analyticsAccounts, analyticsGaps, type AnalyticsAccountRow, type AnalyticsGapRow } from '../tables.ts'
import type { GapView } from '../schemas.ts'

/** An account with what is known of its collection. */
export interface WatchedAccount {
  readonly account: ConnectedAccount
  /** The title of the platform. */
  readonly title: string
  /** Undefined if this version does not know the platform. */
  readonly analytics: Analytics | undefined
  /** Undefined before the account was first asked. */
  readonly watch: AnalyticsAccountRow | undefined
  readonly gaps: readonly AnalyticsGapRow[]
}

/** The accounts that a read is about, and the zone of their days. */
export interface Watched {
  readonly zone: string
  readonly accounts: readonly WatchedAccount[]
}

/** Finds accounts, and says why their figures are missing. */
export class WatchedAccounts {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #directory: PlatformDirectory

  constructor(sql: Sql, clock: Clock, directory: PlatformDirectory) {
    this.#sql = sql
    this.#clock = clock
    this.#directory = directory
  }

  /** The accounts of a workspace, or these of them. @throws AppError not_found for an account of another workspace */
  async load(workspaceId: string, accountIds?: readonly string[]): Promise<Watched> {
    const [zone, all] = await Promise.all([timeZoneOf(this.#sql, workspaceId), accountsOf(this.#sql, workspaceId)])
    const wanted = accountIds && new Set(accountIds)
    const accounts = wanted === undefined ? all : all.filter(({ id }) => wanted.has(id))
    if (wanted !== undefined && accounts.length < wanted.size) throw NotFound()
    return { zone, accounts: await this.#with(accounts) }
  }

  async #with(accounts: readonly ConnectedAccount[]): Promise<WatchedAccount[]> {
    if (accounts.length === 0) return []
    const accountId = anyOf(accounts.map(({ id }) => id))
    const [watches, gaps] = await Promise.all([
      analyticsAccounts.find(this.#sql, { accountId }),
      analyticsGaps.find(this.#sql, { accountId }, { orderBy: ['startedAt asc'] }),
    ])
    const byId = new Map(watches.map((watch) => [watch.accountId, watch]))
    const gapsById = Map.groupBy(gaps, (gap) => gap.accountId)
    return accounts.map((account) => {
      const platform = this.#directory.find(account.platform)?.platform
      return {
        account,
        title: platform?.title ?? account.platform,
        analytics: platform?.analytics,
        watch: byId.get(account.id),
        gaps: gapsById.get(account.id) ?? [],
      }
    })
  }

  /** Why a figure of an account has no value between two times, in milliseconds. */
  reason(account: WatchedAccount, figure: FigureName, start: number, end: number): GapView {
    const { gaps, watch } = account
    const missing = notReported(account, figure)
    if (missing !== undefined) return missing
    const now = this.#clock.now()
    if (start > now) return { code: 'future', message: 'This time has not come yet.' }
    const gap = gaps.findLast(
      ({ endedAt, startedAt }) => Date.parse(startedAt) < end && (endedAt === null || Date.parse(endedAt) > start),
    )
    if (gap !== undefined) return { code: gap.code, message: gap.message }
    if (watch?.startedAt == null) {
      return { code: 'not_started', message: 'The platform has not been asked for figures of this account yet.' }
    }
    if (end <= Date.parse(watch.startedAt)) {
      const since = watch.startedAt.slice(0, 10)
      return { code: 'not_started', message: `Crier has asked for figures of this account since ${since} only.` }
    }
    return { code: 'not_collected', message: 'There is no report of the platform from this time.' }
  }
}

/** Whether, and why, a platform does not report a figure. */
export function notReported(
  { account, analytics, title }: Pick<WatchedAccount, 'account' | 'analytics' | 'title'>,
  figure: FigureName,
): GapView | undefined {
  if (analytics === undefined) {
    return { code: 'not_reported', message: `This version does not know the platform ${account.platform}.` }
  }
  const names: readonly FigureName[] = isAccountFigure(figure) ? analytics.accountFigures : analytics.contentFigures
  if (names.includes(figure)) return undefined
  const why =
    names.length === 0 ? (isAccountFigure(figure) ? analytics.missing?.account : analytics.missing?.content) : undefined
  return { code: 'not_reported', message: why ?? `${title} does not report this figure.` }
}
