import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { CallOptions, ConfiguredPlatform, PlatformDirectory } from '../../../platforms/directory.ts'
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

/** How an account is used. `onCall` also gets the calls of a refresh, unless another caller has begun it. */
export interface UseOptions extends CallOptions {
  /** Whether to ask the platform again for an account whose access it has refused: on request of a user. */
  readonly evenIfBroken?: boolean
}

type TokenAccount = Pick<SocialAccountRow, 'id' | 'workspaceId' | 'platform' | 'remoteId'>

/**
 * `orphaned`: the refresh before this one began and its result is unknown, because its node died or its reply was lost.
 * It may have used the refresh token.
 */
type TakenLease = 'free' | 'orphaned'

interface Lease {
  readonly accountId: string
  readonly version: number
  readonly leaseToken: string
  readonly leaseUntil: string
  readonly now: string
}

/** Takes the lease of a refresh that ended without a result. Reading and taking it are one step. */
const takeOrphaned = query({ socialCredentials }, (db, $: Lease) =>
  db
    .updateTable('socialCredentials')
    .set({ leaseToken: $.leaseToken, leaseUntil: $.leaseUntil })
    .where('accountId', '=', $.accountId)
    .where('version', '=', $.version)
    .where((e) => e.or([e('leaseUntil', 'is', null), e('leaseUntil', '<', $.now)])),
)

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
export class TokenRefresher {
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
   * @throws PlatformError auth_expired when the user must connect again; a retryable kind when the platform is
   * unavailable
   */
  async credentialOf(account: TokenAccount, options: UseOptions = {}): Promise<Credential> {
    const row = await this.#read(account.id)
    const credential = await this.#vault.open(row)
    return this.#isFresh(credential) ? credential : this.#share(account, row.version, options)
  }

  /**
   * Refreshes the token now.
   * @throws PlatformError
   */
  refresh(account: TokenAccount): Promise<Credential> {
    return this.#share(account, undefined, { evenIfBroken: true })
  }

  /** @param version of the outdated credential; a refresh that has already replaced it counts */
  #share(account: TokenAccount, version: number | undefined, options: UseOptions): Promise<Credential> {
    let running = this.#running.get(account.id)
    if (running === undefined) {
      running = this.#refreshOnce(account, version, options).finally(() => this.#running.delete(account.id))
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
    { evenIfBroken = false, onCall }: UseOptions,
  ): Promise<Credential> {
    const entry = this.#directory.find(account.platform)
    if (entry?.platform.oauth?.refresh === undefined) throw expired(account, 'the access has ended')
    const lease = randomUUID()
    const giveUpAt = this.#clock.monotonic() + WAIT_MS
    const first = stale ?? (await this.#read(account.id)).version
    let taken: TakenLease | undefined
    while ((taken = await this.#takeLease(account.id, lease, first)) === undefined) {
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
    let isStored = false
    let isUnknown = false
    try {
      if (!evenIfBroken) await this.#requireWhole(account)
      const fresh = await this.#ask(entry, account, taken, onCall)
      await this.#save(account.id, lease, fresh)
      isStored = true
      await this.#events.refreshed(account, fresh)
      return fresh
    } catch (error) {
      isUnknown = !isStored && (!(error instanceof PlatformError) || error.mayHaveHappened)
      throw error
    } finally {
      // A lease token without an end time tells the next refresh that this one may have used the refresh token.
      await socialCredentials.update(
        this.#sql,
        { accountId: account.id, leaseToken: lease },
        { ...(!isUnknown && { leaseToken: null }), leaseUntil: null },
      )
    }
  }

  /** Asks the platform for new tokens. @throws PlatformError */
  async #ask(
    entry: ConfiguredPlatform,
    account: TokenAccount,
    taken: TakenLease,
    onCall: UseOptions['onCall'],
  ): Promise<Credential> {
    const { oauth } = entry.platform
    if (oauth?.refresh === undefined) throw expired(account, 'the access has ended')
    const { refresh, refreshStyle } = oauth
    const old = await this.#vault.open(await this.#read(account.id))
    // Without the signal of the caller, because others wait for this refresh.
    const call = this.#directory.context(entry, onCall === undefined ? {} : { onCall })
    const context = { ...call, credential: old, remoteId: account.remoteId }
    try {
      return merged(old, await repeated(refreshStyle, taken === 'orphaned', () => refresh(context)))
    } catch (error) {
      if (error instanceof PlatformError && error.kind === 'auth_expired') {
        await this.#events.broken(account, error.detail ?? error.message)
      }
      throw error
    }
  }

  /** Sends no refresh token that the platform has refused: that can count as an attack, and lock the account. */
  async #requireWhole(account: TokenAccount): Promise<void> {
    const known = await socialAccounts.first(this.#sql, { id: account.id }, { columns: ['brokenReason'] })
    if (typeof known?.brokenReason === 'string') throw expired(account, known.brokenReason)
  }

  async #read(accountId: string): Promise<SocialCredentialRow> {
    const row = await socialCredentials.first(this.#sql, { accountId })
    if (row === undefined) throw new Error(`the account ${accountId} has no credential`)
    return row
  }

  /** @returns undefined while another refresh runs, or when the credential has another version */
  async #takeLease(accountId: string, lease: string, version: number): Promise<TakenLease | undefined> {
    const now = this.#clock.now()
    const values = { leaseToken: lease, leaseUntil: new Date(now + LEASE_MS).toISOString() }
    const free = { accountId, version, leaseToken: null }
    if ((await socialCredentials.update(this.#sql, free, values)) === 1) return 'free'
    const wanted = { accountId, version, ...values, now: new Date(now).toISOString() }
    return (await takeOrphaned.run(this.#sql, wanted)) === 1 ? 'orphaned' : undefined
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
 * @param orphaned whether the reply of an earlier refresh was lost
 */
async function repeated(
  style: RefreshStyle,
  orphaned: boolean,
  refresh: () => Promise<Credential>,
): Promise<Credential> {
  let isLost = orphaned
  for (let repeat = 0; ; repeat += 1) {
    try {
      return await refresh()
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      if (error.kind === 'auth_expired' && isLost && style === 'single_use') {
        throw new PlatformError('auth_expired', '', {
          code: 'refresh_reply_lost',
          detail: 'the platform’s reply to a refresh was lost on the way, and the token works only once',
          cause: error,
        })
      }
      if (!error.mayHaveHappened || repeat === REPEATS) throw error
      isLost = true
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
  refresher: TokenRefresher,
  directory: PlatformDirectory,
  accountId: string,
  options: UseOptions = {},
): Promise<OpenAccount | undefined> {
  const row = await socialAccounts.first(sql, { id: accountId })
  const entry = row === undefined ? undefined : directory.find(row.platform)
  if (row === undefined || entry === undefined) return undefined
  const holder = row.sharesLogin && row.loginId !== null ? await socialAccounts.first(sql, { id: row.loginId }) : row
  if (holder === undefined || holder.removedAt !== null) throw expired(row, 'its login was disconnected')
  const credential = await refresher.credentialOf(holder, options)
  return { row, context: { ...directory.context(entry, options), credential, remoteId: row.remoteId } }
}
