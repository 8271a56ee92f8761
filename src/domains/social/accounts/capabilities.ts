import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { LiveCapabilities } from '../../../platforms/platform.ts'
import { openUsable } from './open-account.ts'
import { toAppError } from './platform-calls.ts'
import type { TokenKeeper } from './token-keeper.ts'

/** What an account can do, and when its platform said so. */
export interface KnownCapabilities extends LiveCapabilities {
  /** Milliseconds since the epoch. */
  readonly checkedAt: number
  /** False if the platform did not respond, so that an older answer is shown. */
  readonly isCurrent: boolean
}

/** How long an answer is used, unless the platform states another time. */
const LIFE_MS = 10 * MINUTE
/** Accounts whose answers one node remembers. */
const MOST_ACCOUNTS = 10_000

/** The live answers of platforms about accounts. Each node remembers them, so that one account is not asked often. */
export class AccountCapabilities {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #keeper: TokenKeeper
  readonly #directory: PlatformDirectory
  readonly #known = new Map<string, { readonly value: LiveCapabilities; readonly at: number }>()
  readonly #running = new Map<string, Promise<KnownCapabilities>>()

  constructor(sql: Sql, clock: Clock, keeper: TokenKeeper, directory: PlatformDirectory) {
    this.#sql = sql
    this.#clock = clock
    this.#keeper = keeper
    this.#directory = directory
  }

  /**
   * The answer for an account. If the platform does not respond, the last one.
   * @throws AppError not_found, account_not_connected, platform_refused; platform_unavailable if there is no answer yet
   */
  of(id: string): Promise<KnownCapabilities> {
    let running = this.#running.get(id)
    if (running === undefined) {
      running = this.#read(id).finally(() => this.#running.delete(id))
      this.#running.set(id, running)
    }
    return running
  }

  async #read(id: string): Promise<KnownCapabilities> {
    const { context, row } = await openUsable(this.#sql, this.#keeper, this.#directory, id)
    const platform = this.#directory.find(row.platform)?.platform
    const now = this.#clock.now()
    if (platform?.capabilities === undefined) return { ...NOTHING, checkedAt: now, isCurrent: true }
    const known = this.#known.get(id)
    if (known !== undefined && now - known.at < (platform.capabilitiesLifeMs ?? LIFE_MS)) {
      return { ...known.value, checkedAt: known.at, isCurrent: true }
    }
    try {
      const value = await platform.capabilities(context)
      this.#remember(id, value, now)
      return { ...value, checkedAt: now, isCurrent: true }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (known === undefined || error.whoActs === 'user') throw toAppError(error)
      return { ...known.value, checkedAt: known.at, isCurrent: false }
    }
  }

  #remember(id: string, value: LiveCapabilities, at: number): void {
    this.#known.delete(id)
    this.#known.set(id, { value, at })
    const oldest = this.#known.keys().next().value
    if (this.#known.size > MOST_ACCOUNTS && oldest !== undefined) this.#known.delete(oldest)
  }
}

const NOTHING: LiveCapabilities = { limits: {}, blocked: {}, details: {} }
