import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { increment } from '../../../db/increment.ts'
import type { CallOptions, PlatformDirectory } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { AccountContext, Credential, RefreshStyle } from '../../../platforms/platform.ts'
import { socialAccounts, socialCredentials, type SocialAccountRow, type SocialCredentialRow } from './tables.ts'
import type { CredentialVault } from './vault.ts'

/** A token that expires sooner is refreshed before it is used. */
const MARGIN_MS = MINUTE
/** Longer than a refresh with its retry can take, so that a live node never loses its lease. */
const LEASE_MS = 90 * SECOND
const LEASE_POLL_MS = 150
/** How long to wait for the refresh of another node. */
const WAIT_MS = LEASE_MS + 10 * SECOND
const REPEATS = 2

type TokenAccount = Pick<SocialAccountRow, 'id' | 'workspaceId' | 'platform' | 'remoteId'>

/** The effect of a refresh on an account. */
export interface TokenEvents {
  readonly refreshed: (account: TokenAccount, credential: Credential) => Promise<void>
  /** The grant is gone; only the user can renew it. */
  readonly broken: (account: TokenAccount, reason: string) => Promise<void>
}

/**
 * Keeps the tokens of accounts fresh. Only one refresh of an account runs at a time, on all nodes together: a row lease
 * in PostgreSQL decides which, and the lease's token is the fence of the result. A platform's outage never breaks an
 * account; only the platform's own refusal of the grant does.
 */
export class TokenKeeper {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #vault: CredentialVault
  readonly #directory: PlatformDirectory
  readonly #events: TokenEvents
  /** Refreshes that run on this node, by account. Callers share them. */
  readonly #running = new Map<string, Promise<Credential>>()

  constructor(sql: Sql, clock: Clock, vault: CredentialVault, directory: PlatformDirectory, events: TokenEvents) {
    this.#sql = sql
    this.#clock = clock
    this.#vault = vault
    this.#directory = directory
    this.#events = events
  }

  /**
   * A credential that is valid for at least a minute.
   * @param calls of the caller, in whose log a refresh is. Callers that share a refresh do not log it
   * @throws PlatformError auth_expired when the user must connect again; a retryable kind when the platform is
   * unavailable
   */
  async credentialOf(account: TokenAccount, calls?: CallOptions): Promise<Credential> {
    const row = await this.#read(account.id)
    const credential = await this.#vault.open(row)
    return this.#isFresh(credential) ? credential : this.refresh(account, row.version, calls)
  }

  /**
   * Refreshes the token now.
   * @param version of the outdated credential; a refresh that has already replaced it counts
   * @throws PlatformError
   */
  refresh(account: TokenAccount, version?: number, calls?: CallOptions): Promise<Credential> {
    let running = this.#running.get(account.id)
    if (running === undefined) {
      running = this.#refreshOnce(account, version, calls).finally(() => this.#running.delete(account.id))
      this.#running.set(account.id, running)
    }
    return running
  }

  #isFresh({ expiresAt }: Credential): boolean {
    return expiresAt === undefined || expiresAt - this.#clock.now() > MARGIN_MS
  }

  async #refreshOnce(
    account: TokenAccount,
    stale: number | undefined,
    { onCall }: CallOptions = {},
  ): Promise<Credential> {
    const entry = this.#directory.find(account.platform)
    const refresh = entry?.platform.oauth?.refresh
    if (entry === undefined || refresh === undefined) throw expired(account, 'the access has ended')
    const lease = randomUUID()
    const giveUpAt = this.#clock.monotonic() + WAIT_MS
    const first = stale ?? (await this.#read(account.id)).version
    while (!(await this.#takeLease(account.id, lease, first))) {
      const row = await this.#read(account.id)
      if (row.version !== first) return this.#vault.open(row)
      if (this.#clock.monotonic() > giveUpAt) {
        throw new PlatformError('network', entry.platform.title, {
          detail: 'another node is still refreshing the token',
          mayHaveHappened: false,
        })
      }
      await delay(LEASE_POLL_MS * (0.5 + Math.random()))
    }
    try {
      const row = await this.#read(account.id)
      const old = await this.#vault.open(row)
      // Without the signal of the caller, because others wait for this refresh.
      const call = this.#directory.context(entry, onCall === undefined ? {} : { onCall })
      const context = { ...call, credential: old, remoteId: account.remoteId }
      const style = entry.platform.oauth?.refreshStyle ?? 'none'
      const fresh = merged(old, await repeated(style, () => refresh(context)))
      await this.#save(account.id, lease, fresh)
      await this.#events.refreshed(account, fresh)
      return fresh
    } catch (error) {
      if (error instanceof PlatformError && error.kind === 'auth_expired') {
        await this.#events.broken(account, error.detail ?? error.message)
      }
      throw error
    } finally {
      await socialCredentials.update(
        this.#sql,
        { accountId: account.id, leaseToken: lease },
        { leaseToken: null, leaseUntil: null },
      )
    }
  }

  async #read(accountId: string): Promise<SocialCredentialRow> {
    const row = await socialCredentials.first(this.#sql, { accountId })
    if (row === undefined) throw new Error(`the account ${accountId} has no credential`)
    return row
  }

  async #takeLease(accountId: string, lease: string, version: number): Promise<boolean> {
    const now = this.#clock.now()
    const taken = await this.#sql.run(
      // One statement, because reading and taking the lease must be one step.
      `update social_credentials set lease_token = $1, lease_until = $2
       where account_id = $3 and version = $4 and (lease_until is null or lease_until < $5)`,
      [lease, new Date(now + LEASE_MS), accountId, version, new Date(now)],
    )
    return taken === 1
  }

  /** Stores the new credential if the lease is still ours. */
  async #save(accountId: string, lease: string, credential: Credential): Promise<void> {
    const sealed = await this.#vault.seal(credential)
    await socialCredentials.update(
      this.#sql,
      { accountId, leaseToken: lease },
      { ...sealed, version: increment(), updatedAt: new Date(this.#clock.now()) },
    )
  }
}

/** Merges the new tokens into the old ones. Tokens that the reply omits or sends empty are kept. */
export function merged(old: Credential, fresh: Credential): Credential {
  const present = Object.entries(fresh).filter(([, value]) => value !== undefined && value !== '')
  return { ...old, ...Object.fromEntries(present) }
}

/**
 * Repeats a refresh whose reply was lost. If refresh tokens work once, the retry can be refused, because the lost reply
 * had the only new token. The user must then connect again, and the reason states this.
 */
async function repeated(style: RefreshStyle, refresh: () => Promise<Credential>): Promise<Credential> {
  let lost: PlatformError | undefined
  for (let repeat = 0; ; repeat += 1) {
    try {
      return await refresh()
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (error.kind === 'auth_expired' && lost !== undefined && style === 'single_use') {
        throw new PlatformError('auth_expired', '', {
          code: 'refresh_reply_lost',
          detail: 'the platform’s reply to a refresh was lost on the way, and the token works only once',
          cause: error,
        })
      }
      if (!error.mayHaveHappened || repeat === REPEATS) throw error
      lost = error
    }
  }
}

function expired(account: TokenAccount, detail: string): PlatformError {
  return new PlatformError('auth_expired', account.platform, { detail })
}

/** An account for which a platform is called. */
export interface OpenAccount {
  readonly row: SocialAccountRow
  readonly context: AccountContext
}

/**
 * Opens an account for a call to its platform.
 * @throws PlatformError
 */
export async function openAccount(
  sql: Sql,
  keeper: TokenKeeper,
  directory: PlatformDirectory,
  accountId: string,
  calls: CallOptions = {},
): Promise<OpenAccount | undefined> {
  const row = await socialAccounts.first(sql, { id: accountId })
  const entry = row === undefined ? undefined : directory.find(row.platform)
  if (row === undefined || entry === undefined) return undefined
  const holder = row.sharesLogin && row.loginId !== null ? await socialAccounts.first(sql, { id: row.loginId }) : row
  if (holder === undefined || holder.removedAt !== null) throw expired(row, 'its login was disconnected')
  const credential = await keeper.credentialOf(holder, calls)
  return { row, context: { ...directory.context(entry, calls), credential, remoteId: row.remoteId } }
}
