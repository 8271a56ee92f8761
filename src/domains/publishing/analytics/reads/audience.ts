import { sql as raw } from 'kysely'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import type { AudienceDimension } from '../../../../platforms/analytics.ts'
import type { GapView } from '../schemas.ts'
import { analyticsAudience } from '../tables.ts'
import { ratio } from './numbers.ts'
import type { WatchedAccount, WatchedAccounts } from './watched.ts'

const DIMENSIONS = ['age', 'gender', 'country', 'city'] as const satisfies readonly AudienceDimension[]

/** What was last reported. One probe of the primary key for each account and dimension, however often they were read. */
const newestReports = query(
  { analyticsAudience },
  (db, $: { accountIds: readonly string[]; dimensions: readonly string[] }) =>
    db
      .selectFrom(raw<{ id: string }>`unnest(${$.accountIds}::uuid[])`.as<'a'>(raw`a (id)`))
      .crossJoin(raw<{ name: string }>`unnest(${$.dimensions}::text[])`.as<'d'>(raw`d (name)`))
      .crossJoinLateral((e) =>
        e
          .selectFrom('analyticsAudience')
          .select(['dimension', 'at', 'groups'])
          .whereRef('accountId', '=', 'a.id')
          .whereRef('dimension', '=', 'd.name')
          .orderBy('at', 'desc')
          .limit(raw.lit(1))
          .as('n'),
      )
      .select(['a.id as accountId', 'n.dimension', 'n.at', 'n.groups']),
)

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
    const rows = await newestReports.rows(this.#sql, {
      accountIds: accounts.map(({ account }) => account.id),
      dimensions: DIMENSIONS,
    })
    const found = new Map(rows.map((row) => [`${row.accountId} ${row.dimension}`, row]))
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
