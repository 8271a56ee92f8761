import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { Jobs } from '../../../core/job.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import { anyOf, atMost, lessThan } from '../../../db/condition.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { reencryptCredentials, refreshToken } from './jobs.ts'
import { dueReminder } from './notices.ts'
import { revokeGrant } from './revocation.ts'
import { EXPIRING_MS, statusOf } from './status.ts'
import type { SocialAccounts } from './service.ts'
import { socialAccounts, socialCredentials } from './tables.ts'
import type { TokenRefresher } from './token-refresher.ts'
import type { CredentialVault } from './vault.ts'

/** How many accounts one run of a schedule takes. */
const BATCH = 500

interface UpkeepNeeds {
  readonly refresher: TokenRefresher
  readonly directory: PlatformDirectory
  readonly vault: CredentialVault
  readonly accounts: SocialAccounts
}

/** Scheduled work on accounts: renewals, reminders, revocation. */
export class AccountUpkeep {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #jobs: Jobs
  readonly #refresher: TokenRefresher
  readonly #directory: PlatformDirectory
  readonly #vault: CredentialVault
  readonly #accounts: SocialAccounts

  constructor(sql: Sql, clock: Clock, jobs: Jobs, { accounts, directory, refresher, vault }: UpkeepNeeds) {
    this.#sql = sql
    this.#clock = clock
    this.#jobs = jobs
    this.#refresher = refresher
    this.#directory = directory
    this.#vault = vault
    this.#accounts = accounts
  }

  /** Renews a token. Does nothing if the account was removed. @throws PlatformError */
  async refresh(accountId: string): Promise<void> {
    const row = await socialAccounts.first(this.#sql, { id: accountId, removedAt: null, brokenReason: null })
    if (row !== undefined) await this.#refresher.refresh(row)
  }

  /** Adds a key, and the job that encrypts all credentials with it. */
  async rotateKeys(): Promise<{ keyId: string; credentialCount: number }> {
    const keyId = await this.#vault.addKey()
    await this.#jobs.add(this.#sql, reencryptCredentials, {}, { key: `reencrypt ${keyId}` })
    return { keyId, credentialCount: await socialCredentials.count(this.#sql, {}) }
  }

  /** Adds a job for each account that is due. A job that is already waiting is not added again. */
  async addRefreshJobs(tx: Transaction): Promise<void> {
    const now = new Date(this.#clock.now())
    const due = await socialAccounts.find(
      tx,
      { refreshAt: atMost(now.toISOString()) },
      { columns: ['id', 'workspaceId'], limit: BATCH },
    )
    for (const { id, workspaceId } of due) {
      await this.#jobs.add(tx, refreshToken, { accountId: id }, { key: `refresh ${id}`, workspaceId })
    }
    // The job sets the next time. Until it has, the account is not due again.
    if (due.length === 0) return
    const later = new Date(now.getTime() + 10 * MINUTE).toISOString()
    await socialAccounts.update(tx, { id: anyOf(due.map(({ id }) => id)) }, { refreshAt: later })
  }

  /** Accounts whose access ends soon, and whose status or reminder is out of date. */
  async ending(): Promise<readonly { readonly id: string; readonly workspaceId: string }[]> {
    const now = this.#clock.now()
    const before = new Date(now + EXPIRING_MS).toISOString()
    const rows = await socialAccounts.find(
      this.#sql,
      { expiresAt: lessThan(before), status: anyOf(['connected', 'expiring', 'limited'] as const) },
      { orderBy: ['expiresAt asc'], limit: BATCH },
    )
    return rows.filter((row) => statusOf(row, now) !== row.status || dueReminder(row, now) !== undefined)
  }

  /**
   * Revokes the access to a removed account. An account that was restored or connected again keeps it.
   * @throws PlatformError when the platform does not respond
   */
  async revoke(accountId: string): Promise<void> {
    const row = await socialAccounts.first(this.#sql, { id: accountId })
    const sealed = await socialCredentials.first(this.#sql, { accountId })
    if (row === undefined || sealed === undefined || row.removedAt === null) return
    const needs = { sql: this.#sql, directory: this.#directory, accounts: this.#accounts }
    if (!(await revokeGrant(needs, row, () => this.#vault.open(sealed)))) return
    const { version } = sealed
    const brokenReason = 'the access was revoked when the account was disconnected'
    // Only if the account was not connected again during the call.
    if (await socialCredentials.exists(this.#sql, { accountId, version })) {
      await socialAccounts.update(this.#sql, { id: accountId, removedAt: row.removedAt }, { brokenReason })
    }
  }
}
