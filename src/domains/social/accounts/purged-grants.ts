import type { Jobs } from '../../../core/job.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { Credential } from '../../../platforms/platform.ts'
import { revokePurged } from './jobs.ts'
import type { SocialAccounts } from './service.ts'
import { socialAccounts, socialCredentials } from './tables.ts'
import type { CredentialVault } from './vault.ts'

/** A grant whose account is no longer stored. */
export interface PurgedGrant {
  readonly platform: string
  readonly remoteId: string
  readonly workspaceId: string
  readonly credential: Credential
}

interface Needs {
  readonly sql: Sql
  readonly jobs: Jobs
  readonly log: Logger
  readonly directory: PlatformDirectory
  readonly vault: CredentialVault
  readonly accounts: SocialAccounts
}

/** Ends the access to the accounts of workspaces that are deleted for good, because nobody could end it here afterwards. */
export class PurgedGrants {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Adds a job with the credential of each account, in the transaction that deletes the workspaces. */
  async keep(tx: Transaction, workspaceIds: readonly string[]): Promise<void> {
    const { directory, jobs, log, vault } = this.#needs
    const rows = await socialAccounts.find(
      tx,
      { workspaceId: anyOf(workspaceIds), loginId: null, brokenReason: null },
      { columns: ['id', 'platform', 'remoteId', 'workspaceId'] },
    )
    const revocable = rows.filter(({ platform }) => directory.find(platform)?.platform.revoke !== undefined)
    if (revocable.length === 0) return
    const sealed = await socialCredentials.find(tx, { accountId: anyOf(revocable.map(({ id }) => id)) })
    const envelopes = new Map(sealed.map((row) => [row.accountId, row]))
    for (const { id, ...account } of revocable) {
      const envelope = envelopes.get(id)
      if (envelope === undefined) continue
      try {
        const credential = await vault.open(envelope)
        await jobs.add(tx, revokePurged, { ...account, credential: { ...credential } })
      } catch (error) {
        // The workspace must go nevertheless.
        log.warn({ error, accountId: id }, 'the access to an account of a deleted workspace cannot be revoked')
      }
    }
  }

  /** @throws PlatformError when the platform does not respond */
  async revoke({ credential, platform, remoteId, workspaceId }: PurgedGrant): Promise<void> {
    const { accounts, directory, sql } = this.#needs
    const entry = directory.find(platform)
    if (entry?.platform.revoke === undefined) return
    // The grant belongs to the account and the app. Revoking it would also end it in the other workspaces.
    if ((await accounts.countElsewhere(sql, { platform, remoteId, workspaceId })) > 0) return
    try {
      await entry.platform.revoke({ ...directory.context(entry), credential, remoteId })
    } catch (error) {
      // A platform that no longer knows the grant has revoked it.
      if (!(error instanceof PlatformError) || error.kind !== 'auth_expired') throw error
    }
  }
}
