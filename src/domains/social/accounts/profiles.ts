import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { AccountBudgets } from './budgets.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import type { Profile } from '../../../platforms/platform.ts'
import { AccountNotConnected } from './errors.ts'
import { asAppError } from './platform-calls.ts'
import type { SocialAccountData } from './schemas.ts'
import type { SocialAccounts } from './service.ts'
import { socialAccounts } from './tables.ts'
import { openAccount, type TokenKeeper } from './token-keeper.ts'

/** The current profiles of accounts at their platforms. */
export class AccountProfiles {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #keeper: TokenKeeper
  readonly #directory: PlatformDirectory
  readonly #accounts: SocialAccounts
  readonly #budgets: AccountBudgets

  constructor(
    sql: Sql,
    clock: Clock,
    {
      accounts,
      budgets,
      directory,
      keeper,
    }: { keeper: TokenKeeper; directory: PlatformDirectory; accounts: SocialAccounts; budgets: AccountBudgets },
  ) {
    this.#sql = sql
    this.#clock = clock
    this.#keeper = keeper
    this.#directory = directory
    this.#accounts = accounts
    this.#budgets = budgets
  }

  /**
   * Renews the token if the platform has renewable ones, and reads the profile.
   * @throws AppError not_found, account_not_connected, platform_refused, platform_unavailable
   */
  async load(id: string): Promise<Profile> {
    const row = await socialAccounts.first(this.#sql, { id })
    if (row === undefined) throw NotFound()
    if (row.removedAt !== null) throw AccountNotConnected({ message: 'The account was removed. Restore it first.' })
    return asAppError(async () => {
      if (row.refreshAt !== null) await this.#keeper.refresh(row)
      const opened = await openAccount(this.#sql, this.#keeper, this.#directory, id, {
        onBudget: (report) => this.#budgets.note(id, report),
        evenIfBroken: true,
      })
      const entry = this.#directory.find(row.platform)
      if (opened === undefined || entry === undefined) throw NotFound()
      return entry.platform.profile(opened.context)
    })
  }

  /** Stores a profile that the platform has just returned, which also shows that the access works. */
  store(turn: Turn, id: string, profile: Profile, userId: string): Promise<SocialAccountData> {
    const { avatarUrl, handle, kind, name, url } = profile
    const checkedAt = new Date(this.#clock.now()).toISOString()
    const changes = { name, handle, avatarUrl, url, kind, brokenReason: null, checkedAt }
    return this.#accounts.change(turn, id, changes, { actorId: userId, reason: 'refreshed' })
  }
}
