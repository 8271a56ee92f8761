import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Profile } from '../../../platforms/platform.ts'
import type { AccountCalls } from './account-calls.ts'
import { AccountNotConnected } from './errors.ts'
import { asAppError } from './platform-calls.ts'
import type { SocialAccountData } from './schemas.ts'
import type { SocialAccounts } from './service.ts'
import { socialAccounts } from './tables.ts'
import type { TokenRefresher } from './token-refresher.ts'

/** The current profiles of accounts at their platforms. */
export class AccountProfiles {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #refresher: TokenRefresher
  readonly #calls: AccountCalls
  readonly #accounts: SocialAccounts

  constructor(
    sql: Sql,
    clock: Clock,
    { accounts, calls, refresher }: { refresher: TokenRefresher; calls: AccountCalls; accounts: SocialAccounts },
  ) {
    this.#sql = sql
    this.#clock = clock
    this.#refresher = refresher
    this.#calls = calls
    this.#accounts = accounts
  }

  /**
   * Renews the token if the platform has renewable ones, and reads the profile. If the platform refuses the access for
   * good, the account is marked as broken.
   * @throws AppError not_found, account_not_connected, platform_refused, platform_unavailable
   */
  async load(id: string): Promise<Profile> {
    const row = await socialAccounts.first(this.#sql, { id })
    if (row === undefined) throw NotFound()
    if (row.removedAt !== null) throw AccountNotConnected({ message: 'The account was removed. Restore it first.' })
    return asAppError(async () => {
      if (row.refreshAt !== null) await this.#refresher.refresh(row)
      return this.#calls.run(id, { evenIfBroken: true }, ({ context, platform }) => platform.profile(context))
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
