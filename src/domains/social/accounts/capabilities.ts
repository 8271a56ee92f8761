import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Caller } from '../../../core/caller.ts'
import { MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import { dropOldest } from '../../../tools/drop-oldest.ts'
import { NotFound } from '../../../core/errors.ts'
import { isUuid } from '../../../tools/id.ts'
import { withinKey } from '../../../core/key-limits.ts'
import type { Logger } from '../../../core/log.ts'
import type { Memberships } from '../../../core/ports.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { LiveCapabilities } from '../../../platforms/platform.ts'
import { currentLearned, type Limits } from '../../../platforms/rules/limits.ts'
import type { AccountBudgets, BudgetsByName } from './budgets.ts'
import type { AccountStatus } from './status.ts'
import { socialAccountReports, socialAccounts } from './tables.ts'
import { requireUsable } from './open-account.ts'
import { toAppError } from './platform-calls.ts'
import { openAccount, type TokenRefresher } from './token-refresher.ts'

const LIFE_MS = 10 * MINUTE
/** After a failed call, the last known capabilities are used this long. */
const PAUSE_MS = 30 * SECOND
/** How long a caller waits for the platform. The call goes on and is stored. */
const PATIENCE_MS = 3 * SECOND
const CALL_MS = 15 * SECOND
const USABLE: readonly AccountStatus[] = ['connected', 'expiring', 'limited']

/** The platform's answer about an account. */
export interface KnownCapabilities extends LiveCapabilities {
  /** Milliseconds since the epoch. */
  readonly checkedAt: number
  /** False if the platform did not respond, so that an older answer is shown. */
  readonly isCurrent: boolean
}

/** What an account can do now. */
export interface AccountNow {
  readonly accountId: string
  readonly platform: string
  readonly status: AccountStatus
  /** The platform's last reply; null if there is none. */
  readonly live: LiveCapabilities | null
  /** When the platform replied, ISO 8601. */
  readonly liveAt: string | null
  /** Why there is no newer reply. */
  readonly error: string | null
  /** The limits that apply, and why the account cannot do something. */
  readonly limits: Limits
  readonly budgets: BudgetsByName
}

const accountWithReport = query({ socialAccounts, socialAccountReports }, (db, $: { id: string }) =>
  db
    .selectFrom('socialAccounts as a')
    .leftJoin('socialAccountReports as r', 'r.accountId', 'a.id')
    .select(['a.id', 'a.workspaceId', 'a.platform', 'a.status', 'a.statusReason'])
    .select(['a.removedAt', 'a.suspendedAt', 'a.archivedAt'])
    .select(['r.capabilitiesAt', 'r.freshUntil', 'r.error', 'r.failedAt'])
    .select([
      sql<string | null>`r.capabilities::text`.as('capabilities'),
      sql<string | null>`r.budgets::text`.as('budgets'),
    ])
    .where('a.id', '=', $.id),
)

type Read = NonNullable<Awaited<ReturnType<(typeof accountWithReport)['row']>>>
type Found = Omit<Read, 'capabilities' | 'budgets'> & {
  readonly capabilities: LiveCapabilities | null
  readonly budgets: BudgetsByName
}
type Changes = Partial<Pick<Found, 'capabilities' | 'capabilitiesAt' | 'freshUntil' | 'error' | 'failedAt'>>
type Report = Pick<Found, 'capabilities' | 'capabilitiesAt' | 'error'> & {
  /** The error of the call that was just made. */
  readonly failure?: PlatformError
}

/** How many different replies of platforms are remembered. */
const MAX_REPLIES = 1_000

const NOTHING: LiveCapabilities = { limits: {}, blocked: {}, details: {} }
const NO_BUDGETS: BudgetsByName = {}

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly log: Logger
  readonly directory: PlatformDirectory
  readonly refresher: TokenRefresher
  readonly budgets: AccountBudgets
  readonly memberships: Memberships
}

/**
 * What accounts can do, as their platforms say. A reply is stored and used for its life. While a platform does not
 * reply, its last reply is used, with its time.
 */
export class AccountCapabilities {
  readonly #needs: Needs
  /** Calls that run on this node, by account. Callers share them. */
  readonly #running = new Map<string, Promise<Report>>()
  /** Parsed replies by their stored text. Accounts with the same reply share it, and the limits that follow from it. */
  readonly #parsed = new Map<string, object>()
  /** The last answer for each account. It stays the same object while nothing has changed, so its text can be kept. */
  readonly #answers = new Map<string, AccountNow>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * The answer for an account. If the platform does not respond, the last one.
   * @throws AppError not_found, account_not_connected, platform_refused; platform_unavailable if there is no answer yet
   */
  async of(id: string): Promise<KnownCapabilities> {
    const { clock, directory } = this.#needs
    const found = await this.#find(id)
    requireUsable(found)
    const now = clock.now()
    if (directory.find(found.platform)?.platform.capabilities === undefined) {
      return { ...NOTHING, checkedAt: now, isCurrent: true }
    }
    const report: Report = this.#isFresh(found) ? found : await this.#asked(found)
    const { capabilities, capabilitiesAt, failure } = report
    if (failure !== undefined && (capabilitiesAt === null || failure.whoActs === 'user')) throw toAppError(failure)
    const isCurrent = failure === undefined
    return { ...(capabilities ?? NOTHING), checkedAt: Date.parse(capabilitiesAt ?? '') || now, isCurrent }
  }

  /**
   * What an account can do now, for a caller who may read it.
   * @throws AppError not_found, also if the caller may not read the account or it is of another platform
   */
  async forCaller(id: string, platform: string, caller: Caller | undefined): Promise<AccountNow> {
    const { memberships } = this.#needs
    const found = caller === undefined || !isUuid(id) ? undefined : await this.#find(id)
    if (found === undefined || found.platform !== platform) throw NotFound()
    const member = withinKey(await memberships.find(found.workspaceId, caller?.userId ?? ''), caller)
    if (member?.scopes.has('accounts:read') !== true) throw NotFound()
    return this.#now(found, await this.#report(found))
  }

  /** Remembers the size of the largest file that an account can upload, as far as a refused file has shown. */
  async learn(id: string, mostBytes: number): Promise<void> {
    const { clock, log } = this.#needs
    const capabilities = (await this.#find(id))?.capabilities ?? NOTHING
    const known = currentLearned(capabilities, clock.now())
    // The refusal of a larger file says nothing new.
    if (known !== undefined && known.mostBytes <= mostBytes) return
    const learned = { mostBytes, at: new Date(clock.now()).toISOString() }
    await this.#store(id, { capabilities: { ...capabilities, learned } }).catch((error: unknown) => {
      log.error({ error, accountId: id }, 'storing the size of a refused file failed')
    })
  }

  async #find(id: string): Promise<Found | undefined> {
    const row = await accountWithReport.row(this.#needs.sql, { id })
    return (
      row && {
        ...row,
        capabilities: row.capabilities === null ? null : (this.#parse(row.capabilities) as LiveCapabilities),
        budgets: row.budgets === null ? NO_BUDGETS : (this.#parse(row.budgets) as BudgetsByName),
      }
    )
  }

  #parse(text: string): object {
    let parsed = this.#parsed.get(text)
    if (parsed === undefined) {
      parsed = JSON.parse(text) as object
      this.#parsed.set(text, parsed)
      dropOldest(this.#parsed, MAX_REPLIES)
    }
    return parsed
  }

  #now(found: Found, { capabilities, capabilitiesAt, error }: Report): AccountNow {
    const { budgets, directory } = this.#needs
    const { id, platform, status, statusReason } = found
    const reason = USABLE.includes(status) ? undefined : (statusReason ?? `The account is ${status}.`)
    const known = capabilities ?? NOTHING
    // Without a reply, the rules of the platform apply.
    const live =
      reason === undefined ? (capabilities ?? undefined) : { ...known, blocked: { ...known.blocked, publish: reason } }
    return this.#latest({
      accountId: id,
      platform,
      status,
      live: capabilities,
      liveAt: capabilitiesAt,
      error,
      limits: directory.limits(directory.require(platform), live),
      budgets: budgets.with(id, found.budgets),
    })
  }

  /** The last answer for the account, if it was the same. */
  #latest(answer: AccountNow): AccountNow {
    const last = this.#answers.get(answer.accountId)
    if (last !== undefined && isSame(last, answer)) return last
    this.#answers.set(answer.accountId, answer)
    dropOldest(this.#answers, MAX_REPLIES)
    return answer
  }

  /** The stored report if it is fresh, and otherwise the platform's reply, if that comes soon. */
  async #report(found: Found): Promise<Report> {
    const { clock, directory } = this.#needs
    const isPaused = found.failedAt !== null && Date.parse(found.failedAt) + PAUSE_MS > clock.now()
    const canAsk = directory.find(found.platform)?.platform.capabilities !== undefined && USABLE.includes(found.status)
    if (this.#isFresh(found) || isPaused || !canAsk) return found
    const ended = new AbortController()
    const late = delay(PATIENCE_MS, undefined, { ref: false, signal: ended.signal }).catch(() => undefined)
    const report = await Promise.race([this.#asked(found), late])
    ended.abort()
    return report ?? { ...found, error: `The platform has not answered within ${PATIENCE_MS / SECOND} seconds.` }
  }

  #isFresh({ freshUntil }: Found): boolean {
    return freshUntil !== null && Date.parse(freshUntil) > this.#needs.clock.now()
  }

  #asked(found: Found): Promise<Report> {
    let running = this.#running.get(found.id)
    if (running === undefined) {
      running = this.#ask(found).finally(() => this.#running.delete(found.id))
      this.#running.set(found.id, running)
    }
    return running
  }

  /** Asks the platform and stores the outcome. Never fails. */
  async #ask(found: Found): Promise<Report> {
    const { budgets, clock, directory, refresher, log, sql } = this.#needs
    const { id } = found
    try {
      const opened = await openAccount(sql, refresher, directory, id, {
        signal: AbortSignal.timeout(CALL_MS),
        onBudget: (report) => budgets.note(id, report),
      })
      const { platform } = directory.require(found.platform)
      const reply = opened && (await platform.capabilities?.(opened.context))
      if (reply === undefined) return found
      const learned = currentLearned((await this.#find(id))?.capabilities ?? NOTHING, clock.now())
      const live = { ...reply, ...(learned && { learned }) }
      const now = clock.now()
      const capabilitiesAt = new Date(now).toISOString()
      const freshUntil = new Date(now + (platform.capabilitiesLifeMs ?? LIFE_MS)).toISOString()
      await this.#store(id, { capabilities: live, capabilitiesAt, freshUntil, error: null, failedAt: null })
      return { capabilities: live, capabilitiesAt, error: null }
    } catch (error) {
      if (!(error instanceof PlatformError)) log.error({ error, accountId: id }, 'reading capabilities failed')
      const { title } = directory.require(found.platform).platform
      const failure = error instanceof PlatformError ? error : new PlatformError('unknown', title, { cause: error })
      const reason = failure.detail === undefined ? failure.message : `${failure.message} (${failure.detail})`
      const failed = { error: reason, failedAt: new Date(clock.now()).toISOString() }
      await this.#store(id, failed).catch((cause: unknown) => {
        log.error({ error: cause, accountId: id }, 'storing a report failed')
      })
      return { ...found, error: reason, failure }
    }
  }

  async #store(accountId: string, changes: Changes): Promise<void> {
    await socialAccountReports.upsert(this.#needs.sql, { accountId, ...changes }, ['accountId'])
  }
}

function isSame(one: AccountNow, other: AccountNow): boolean {
  return (Object.keys(one) as (keyof AccountNow)[]).every((key) => one[key] === other[key])
}
