import type { Sql } from '../../src/core/sql.ts'
import { openAccount } from '../../src/domains/social/accounts/token-refresher.ts'
import { PlatformError } from '../../src/platforms/error-kinds.ts'
import type { Composition } from '../../src/server/compose.ts'

export interface UseRequest {
  readonly accountId: string
  /** How many uses at once. */
  readonly count: number
}

export interface UseResult {
  readonly accountId: string
  /** The kind and code of each use that failed. */
  readonly errors: readonly string[]
}

/** Opens an account several times at once, and calls its platform each time. @returns the errors */
export async function usesOf(
  sql: Sql,
  { services: { socialAccounts } }: Composition,
  accountId: string,
  count: number,
): Promise<string[]> {
  const { directory, refresher } = socialAccounts
  const use = async () => {
    const opened = await openAccount(sql, refresher, directory, accountId)
    if (opened === undefined) throw new Error(`there is no account ${accountId}`)
    await directory.require(opened.row.platform).platform.profile(opened.context)
  }
  const all = await Promise.allSettled(Array.from({ length: count }, use))
  return all.flatMap((one) => (one.status === 'rejected' ? [textOf(one.reason)] : []))
}

function textOf(error: unknown): string {
  if (error instanceof PlatformError) return `${error.kind} ${error.code ?? ''}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
