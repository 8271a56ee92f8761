import { sql } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { LiveCapabilities } from '../../../platforms/platform.ts'
import type { BudgetsByName } from './budgets.ts'
import type { AccountStatus } from './status.ts'
import { socialAccountReports, socialAccounts } from './tables.ts'

/** An account as posts need it. */
export interface PostingAccount {
  readonly id: string
  readonly platform: string
  readonly name: string
  readonly handle: string | null
  readonly status: AccountStatus
  readonly statusReason: string | null
  /** What the platform last said about the account. */
  readonly capabilities: LiveCapabilities | null
  /** What the platform last said about its budgets. */
  readonly budgets: BudgetsByName | null
}

const findPosting = query(
  { socialAccounts, socialAccountReports },
  (db, $: { workspaceId: string; ids: readonly string[] }) =>
    db
      .selectFrom('socialAccounts as a')
      .leftJoin('socialAccountReports as r', 'r.accountId', 'a.id')
      .select(['a.id', 'a.platform', 'a.name', 'a.handle', 'a.status', 'a.statusReason', 'r.capabilities', 'r.budgets'])
      .where('a.workspaceId', '=', $.workspaceId)
      .where(sql<boolean>`a.id = any(${$.ids})`),
)

/** An account as people name it. */
export type NamedAccount = Pick<PostingAccount, 'id' | 'platform' | 'name' | 'handle'>

/** The accounts of a workspace that were not removed, to find them by their names. */
export async function namedAccounts(on: Sql, workspaceId: string): Promise<readonly NamedAccount[]> {
  const rows = await socialAccounts.find(
    on,
    { workspaceId },
    { columns: ['id', 'platform', 'name', 'handle', 'status'] },
  )
  return rows.filter(({ status }) => status !== 'removed')
}

/** Accounts of a workspace by id. Unknown ids are left out. */
export async function postingAccounts(
  on: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PostingAccount>> {
  if (ids.length === 0) return new Map()
  const rows = await findPosting.rows(on, { workspaceId, ids })
  return new Map(rows.map((row) => [row.id, row]))
}

/** Statuses in which an account publishes. */
export const PUBLISHING_STATUSES: readonly AccountStatus[] = ['connected', 'expiring', 'limited']
