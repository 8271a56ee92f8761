import { MINUTE, type Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import type { Turn } from '../../../../core/turn.ts'
import { PUBLISHING_STATUSES, type ConnectedAccount } from '../../../social/accounts/index.ts'
import { analyticsAccountUpdated, contentRecordDeleted } from '../events.ts'
import { collectAccount } from '../jobs.ts'
import type { WatchedAccount, WatchedAccounts } from '../reads/watched.ts'
import type { SyncInput, SyncResultData } from '../schemas.ts'
import { withdraw } from '../storage/rollup.ts'
import { analyticsAccounts, analyticsContent } from '../tables.ts'
import type { CollectionWatch } from './watch.ts'

/** How often users can have one account read. */
const AGAIN_MS = 5 * MINUTE
/** A request whose job has not ended after this time does not hold up another one. */
const WAIT_MS = 10 * MINUTE

type Result = SyncResultData['accounts'][number]

/** What users change: requests to read accounts, and records that they delete. */
export class AnalyticsActions {
  readonly #clock: Clock
  readonly #watched: (turn: Turn) => WatchedAccounts
  readonly #watch: CollectionWatch

  constructor(clock: Clock, watched: (turn: Turn) => WatchedAccounts, watch: CollectionWatch) {
    this.#clock = clock
    this.#watched = watched
    this.#watch = watch
  }

  /** Has accounts read at their platforms. @throws AppError not_found */
  async sync(turn: Turn, { accountIds, workspaceId }: SyncInput): Promise<SyncResultData> {
    const { accounts } = await this.#watched(turn).load(workspaceId, accountIds)
    const results: Result[] = []
    for (const watched of accounts) results.push(await this.#syncOne(turn, watched))
    const queued = results.filter(({ status }) => status === 'queued').map(({ accountId }) => accountId)
    turn.audit({ kind: 'workspace', id: workspaceId, details: { accountIds: queued } })
    return { accounts: results }
  }

  async #syncOne(turn: Turn, { account, analytics, watch }: WatchedAccount): Promise<Result> {
    const now = this.#clock.now()
    const base = {
      accountId: account.id,
      platform: account.platform,
      accountName: account.name,
      collectedAt: watch?.collectedAt ?? null,
      availableAt: null,
    }
    const reports = analytics !== undefined && analytics.accountFigures.length + analytics.contentFigures.length > 0
    if (!reports) return { ...base, status: 'not_reported' }
    if (!PUBLISHING_STATUSES.includes(account.status)) return { ...base, status: 'not_connected' }
    const asked = watch?.askedAt == null ? -Infinity : Date.parse(watch.askedAt)
    if (now - asked < WAIT_MS) {
      return { ...base, status: 'waiting', availableAt: new Date(asked + WAIT_MS).toISOString() }
    }
    // A reading that failed counts as well, because the platform was asked.
    const hasFailed = watch !== undefined && watch.failureCount > 0
    const last = hasFailed ? watch.updatedAt : watch?.collectedAt
    const least = hasFailed ? AGAIN_MS : Math.max(AGAIN_MS, analytics.everyMs ?? 0)
    if (last != null && now - Date.parse(last) < least) {
      return { ...base, status: 'fresh', availableAt: new Date(Date.parse(last) + least).toISOString() }
    }
    await this.#ask(turn, account, now)
    return { ...base, status: 'queued' }
  }

  async #ask(turn: Turn, account: ConnectedAccount, now: number): Promise<void> {
    await this.#watch.add(turn.sql, account)
    const at = new Date(now).toISOString()
    await analyticsAccounts.update(turn.sql, { accountId: account.id }, { askedAt: at, updatedAt: at })
    turn.job(collectAccount, { accountId: account.id, asked: true }, { key: `asked ${account.id}` })
    await this.announce(turn, account.id)
  }

  /** Tells live clients the state of an account. */
  async announce(turn: Turn, accountId: string): Promise<void> {
    const row = await analyticsAccounts.first(turn.sql, { accountId })
    if (row === undefined) return
    turn.emit(analyticsAccountUpdated, {
      accountId,
      isWaiting: row.askedAt !== null,
      collectedAt: row.collectedAt,
      failureCount: row.failureCount,
    })
    turn.audit({ kind: 'social_account', id: accountId })
  }

  /** Deletes the record of a post with its figures. The post stays, here and at its platform. @throws AppError not_found */
  async deleteRecord(turn: Turn, id: string): Promise<void> {
    const row = await analyticsContent.first(turn.sql, { id, deletedAt: null })
    if (row === undefined) throw NotFound()
    // The same lock as of readings, which change the same sums.
    await analyticsAccounts.first(turn.sql, { accountId: row.accountId }, { lock: 'for update' })
    await withdraw(turn.sql, row.accountId, id)
    const at = new Date(this.#clock.now()).toISOString()
    await analyticsContent.update(
      turn.sql,
      { id },
      { deletedAt: at, nextAt: null, text: '', url: null, pictureId: null, updatedAt: at },
    )
    turn.emit(contentRecordDeleted, { contentRecordId: id, accountId: row.accountId })
    turn.audit({ kind: 'content_record', id, details: { accountId: row.accountId, remoteId: row.remoteId } })
  }
}
