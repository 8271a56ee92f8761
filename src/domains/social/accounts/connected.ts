import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import { socialAccounts, type SocialAccountRow } from './tables.ts'

export type ConnectedAccount = Pick<
  SocialAccountRow,
  'id' | 'workspaceId' | 'platform' | 'name' | 'handle' | 'avatarUrl' | 'status' | 'createdAt'
>

const COLUMNS = ['id', 'workspaceId', 'platform', 'name', 'handle', 'avatarUrl', 'status', 'createdAt'] as const

/** The next accounts in the order of their ids, of all workspaces and in all states. */
export function accountsAfter(sql: Sql, id: string, limit: number): Promise<ConnectedAccount[]> {
  return socialAccounts.find(sql, { id: greaterThan(id) }, { columns: COLUMNS, orderBy: ['id asc'], limit })
}

/** The accounts of a workspace that were not removed, oldest first. */
export async function accountsOf(sql: Sql, workspaceId: string): Promise<ConnectedAccount[]> {
  const rows = await socialAccounts.find(sql, { workspaceId }, { columns: COLUMNS, orderBy: ['id asc'] })
  return rows.filter(({ status }) => status !== 'removed')
}
