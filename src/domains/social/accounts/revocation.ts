import type { Sql } from '../../../core/sql.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { Credential } from '../../../platforms/platform.ts'
import type { SocialAccounts } from './service.ts'

interface Needs {
  readonly sql: Sql
  readonly directory: PlatformDirectory
  readonly accounts: SocialAccounts
}

interface Account {
  readonly platform: string
  readonly remoteId: string
  readonly workspaceId: string
}

/**
 * Revokes the access to an account at its platform. The grant belongs to the account and the app, so it is kept while the
 * account is connected in another workspace.
 * @returns whether the access was revoked
 * @throws PlatformError when the platform does not respond
 */
export async function revokeGrant(
  { accounts, directory, sql }: Needs,
  { platform, remoteId, workspaceId }: Account,
  credential: () => Promise<Credential>,
): Promise<boolean> {
  const entry = directory.find(platform)
  if (entry?.platform.revoke === undefined) return false
  if ((await accounts.countElsewhere(sql, { platform, remoteId, workspaceId })) > 0) return false
  const context = { ...directory.context(entry), credential: await credential(), remoteId }
  try {
    await entry.platform.revoke(context)
  } catch (error) {
    // A platform that no longer knows the grant has revoked it.
    if (!(error instanceof PlatformError) || error.kind !== 'auth_expired') throw error
  }
  return true
}
