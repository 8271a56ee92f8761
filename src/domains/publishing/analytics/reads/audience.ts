import type { Sql } from '../../../../core/sql.ts'
import type { AudienceDimension } from '../../../../platforms/analytics.ts'
import type { GapView } from '../schemas.ts'
import { ratio } from './numbers.ts'
import type { WatchedAccount, WatchedAccounts } from './watched.ts'

const DIMENSIONS = ['age', 'gender', 'country', 'city'] as const satisfies readonly AudienceDimension[]

interface Found {
  readonly account_id: string
  readonly dimension: string
  readonly at: string
  readonly groups: readonly { readonly group: string; readonly count: number }[]
}

/** Who follows accounts, if platforms report it. */
export class AccountAudiences {
  readonly #sql: Sql
  readonly #watched: WatchedAccounts

  constructor(sql: Sql, watched: WatchedAccounts) {
    this.#sql = sql
    this.#watched = watched
  }

  /** What the platforms last reported. @throws AppError not_found */
  async of({ accountIds, workspaceId }: { readonly workspaceId: string; readonly accountIds?: readonly string[] }) {
    const { accounts } = await this.#watched.load(workspaceId, accountIds)
    const rows = await this.#sql.rows<Found>(NEWEST, [accounts.map(({ account }) => account.id), DIMENSIONS])
    const found = new Map(rows.map((row) => [`${row.account_id} ${row.dimension}`, row]))
    return {
      accounts: accounts.map((watched) => ({
        accountId: watched.account.id,
        platform: watched.account.platform,
        accountName: watched.account.name,
        dimensions: DIMENSIONS.map((dimension) => {
          const row = found.get(`${watched.account.id} ${dimension}`)
          const total = row?.groups.reduce((sum, { count }) => sum + count, 0)
          return {
            dimension,
            at: row?.at ?? null,
            groups: (row?.groups ?? []).map(({ count, group }) => ({ group, count, share: ratio(count, total) ?? 0 })),
            gap: row === undefined ? this.#gap(watched, dimension) : null,
          }
        }),
      })),
    }
  }

  #gap({ analytics, title, watch }: WatchedAccount, dimension: AudienceDimension): GapView {
    if (analytics?.audience.includes(dimension) !== true) {
      const message = analytics?.missing?.audience ?? `${title} does not report this.`
      return { code: 'not_reported', message }
    }
    return watch?.startedAt == null
      ? { code: 'not_started', message: `${title} has not been asked yet.` }
      : { code: 'not_collected', message: `${title} did not report it. Small accounts have none.` }
  }
}

// One probe of the primary key for each account and dimension, however often they were read.
const NEWEST = `
  select a.id as account_id, n.dimension, n.at, n.groups
  from unnest($1::uuid[]) as a(id)
  cross join unnest($2::text[]) as d(name)
  cross join lateral (
    select dimension, at, groups from analytics_audience
    where account_id = a.id and dimension = d.name order by at desc limit 1
  ) n`
