import type { Sql } from '../../../core/sql.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { AccountContext, Platform } from '../../../platforms/platform.ts'
import type { AccountBudgets } from './budgets.ts'
import type { AccountCapabilities } from './capabilities.ts'
import { socialAccounts, type SocialAccountRow } from './tables.ts'
import { openAccount, type TokenRefresher, type UseOptions } from './token-refresher.ts'
import { breakAccount } from './turns.ts'

/** An account, opened for calls to its platform. */
export interface OpenedAccount {
  readonly row: SocialAccountRow
  readonly platform: Platform
  readonly context: AccountContext
}

/** Calls to platforms for an account, by the service itself. */
export class AccountCalls {
  readonly #sql: Sql
  readonly #turns: TurnRunner
  readonly #directory: PlatformDirectory
  readonly #refresher: TokenRefresher
  readonly #budgets: AccountBudgets
  readonly #capabilities: AccountCapabilities

  constructor(
    sql: Sql,
    turns: TurnRunner,
    {
      budgets,
      capabilities,
      directory,
      refresher,
    }: {
      directory: PlatformDirectory
      refresher: TokenRefresher
      budgets: AccountBudgets
      capabilities: AccountCapabilities
    },
  ) {
    this.#sql = sql
    this.#turns = turns
    this.#directory = directory
    this.#refresher = refresher
    this.#budgets = budgets
    this.#capabilities = capabilities
  }

  /**
   * Runs calls with a valid credential. If the platform refuses the token, the token is renewed and `work` runs once
   * more. If the platform refuses the access for good, the account is marked as broken. If it refuses a file as too large,
   * the account remembers that.
   * @throws PlatformError, also if the account is gone
   */
  async run<T>(accountId: string, options: UseOptions, work: (account: OpenedAccount) => Promise<T>): Promise<T> {
    const opened = await this.#open(accountId, options)
    try {
      return await work(opened)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (error.mostBytes !== undefined) await this.#capabilities.learn(accountId, error.mostBytes)
      if (error.kind !== 'auth_expired') throw error
      const holder = await this.#holderOf(opened.row)
      if (opened.platform.oauth?.refresh === undefined || opened.row.refreshAt === null) {
        await this.#turns.system(holder.workspaceId, breakAccount, {
          accountId: holder.id,
          reason: error.detail ?? error.message,
        })
        throw error
      }
      await this.#refresher.refresh(holder)
      return work(await this.#open(accountId, options))
    }
  }

  async #open(accountId: string, options: UseOptions): Promise<OpenedAccount> {
    const opened = await openAccount(this.#sql, this.#refresher, this.#directory, accountId, {
      onBudget: (report) => this.#budgets.note(accountId, report),
      ...options,
    })
    const platform = opened && this.#directory.find(opened.row.platform)?.platform
    if (opened === undefined || platform === undefined) {
      throw new PlatformError('auth_expired', 'The platform', { detail: 'the account was removed' })
    }
    return { ...opened, platform }
  }

  /** The account whose credential is used. */
  async #holderOf(row: SocialAccountRow): Promise<SocialAccountRow> {
    if (!row.sharesLogin || row.loginId === null) return row
    return (await socialAccounts.first(this.#sql, { id: row.loginId })) ?? row
  }
}
