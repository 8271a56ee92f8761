import type { Jobs } from '../../../core/job.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import type { Credential } from '../../../platforms/platform.ts'
import { revokePurged } from './jobs.ts'
import { revokeGrant } from './revocation.ts'
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

/** Revokes the access to accounts whose workspace is deleted for good. Afterwards, Crier has no credential to do that. */
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
        // This must not prevent the deletion of the workspace.
        log.warn({ error, accountId: id }, 'the access to an account of a deleted workspace cannot be revoked')
      }
    }
  }

  /** @throws PlatformError when the platform does not respond */
  async revoke({ credential, ...account }: PurgedGrant): Promise<void> {
    await revokeGrant(this.#needs, account, async () => credential)
  }
}
