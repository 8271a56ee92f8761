import { sql as raw } from 'kysely'
import { HOUR, type Clock } from '../../../../core/clock.ts'
import type { Sql, Transaction } from '../../../../core/sql.ts'
import { anyOf, atMost } from '../../../../db/condition.ts'
import { query } from '../../../../db/query.ts'
import { PlatformError } from '../../../../platforms/error-kinds.ts'
import {
  postingAccounts,
  PUBLISHING_STATUSES,
  type AccountCalls,
  type StoredBudget,
} from '../../../social/accounts/index.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { ACCOUNT_FIGURES } from '../figures.ts'
import type { NewSample, SampleRecorder } from '../storage/recorder.ts'
import { dayOf } from '../storage/zone-days.ts'
import { analyticsAccounts, analyticsAudience, analyticsContent, type AnalyticsAccountRow } from '../tables.ts'
import { closeGap, gapReasonOf, openGap, type GapReason } from './gaps.ts'
import type { ContentPictures } from './pictures.ts'
import { readAccount, type Reading } from './reading.ts'
import { nextAfterFailure, nextForAccount } from './rhythm.ts'
import { addListed, addPublished, nextAtOf, samplesOf, type ContentFacts } from './store.ts'

/** Posts that one reading can ask for one by one. More are read by the next one. */
const MAX_DUE = 100
/** The share of a budget that is left to publishing. */
const KEPT_SHARE = 0.2

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly calls: Pick<AccountCalls, 'run'>
  readonly recorder: SampleRecorder
  readonly pictures: Pick<ContentPictures, 'store'>
}

/** Commits the result of a reading. */
type Commit = (work: (tx: Transaction) => Promise<void>) => Promise<void>

/** Reads the figures of accounts and their posts at the platforms, and stores them. */
export class AnalyticsCollector {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Reads one account. A platform that refuses or does not reply leaves a gap with its reason. */
  async collect(accountId: string, signal: AbortSignal, commit: Commit): Promise<void> {
    const { clock, sql } = this.#needs
    const row = await analyticsAccounts.first(sql, { accountId })
    if (row === undefined) return commit(() => Promise.resolve())
    const account = (await postingAccounts(sql, row.workspaceId, [accountId])).get(accountId)
    if (account === undefined || !PUBLISHING_STATUSES.includes(account.status)) {
      const message = account?.statusReason ?? 'The account is not connected.'
      return commit((tx) => this.#missed(tx, row, { code: 'not_connected', message }, undefined))
    }
    const now = clock.now()
    const resetsAt = usedUp(Object.values(account.budgets ?? {}), now)
    if (resetsAt !== undefined) {
      const reason = { code: 'limited', message: 'The rest of the budget of calls is kept for publishing.' } as const
      return commit((tx) => this.#missed(tx, row, reason, (resetsAt - now) / 1_000))
    }
    const due = await analyticsContent.find(
      sql,
      { accountId, deletedAt: null, nextAt: atMost(new Date(now).toISOString()) },
      { columns: ['id', 'remote'], orderBy: ['nextAt asc'], limit: MAX_DUE },
    )
    let reading: Reading
    let everyMs: number | undefined
    try {
      reading = await this.#needs.calls.run(accountId, { signal }, ({ context, platform }) => {
        everyMs = platform.analytics.everyMs
        const importFrom = row.importedAt === null ? row.importCursor : undefined
        return readAccount(platform, context, { due, importFrom, withAudience: isFirstOfDay(row, now) })
      })
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const reason = gapReasonOf(error)
      return commit((tx) => this.#missed(tx, row, reason, error.retryAfter))
    }
    const pictures = await this.#needs.pictures.store(row, reading.listed, signal)
    return commit((tx) => this.#keep(tx, accountId, { ...reading, pictures }, everyMs))
  }

  async #keep(
    tx: Transaction,
    accountId: string,
    reading: Reading & { readonly pictures: ReadonlyMap<string, string> },
    everyMs: number | undefined,
  ): Promise<void> {
    const { clock, recorder } = this.#needs
    const row = await analyticsAccounts.first(tx, { accountId }, { lock: 'for update' })
    if (row === undefined) return
    const now = clock.now()
    const at = new Date(now).toISOString()
    const zone = await timeZoneOf(tx, row.workspaceId)
    if (zone !== row.zone) await recorder.moveToZone(tx, accountId, zone)
    const since = row.collectedAt === null ? new Date(0) : new Date(Date.parse(row.collectedAt) - HOUR)
    await addPublished(tx, row, since.toISOString(), now)
    const records = await addListed(tx, row, reading.listed, { now, pictures: reading.pictures })
    const startedAt = row.startedAt === null ? now : Date.parse(row.startedAt)
    const samples: NewSample[] = ACCOUNT_FIGURES.flatMap((figure) => {
      const value = reading.account[figure]
      return value === undefined
        ? []
        : [{ contentId: null, figure, at: now, value, source: 'account' as const, fromZero: false }]
    })
    const read = new Map<string, ContentFacts>()
    for (const { insights, post } of reading.listed) {
      const record = records.get(post.id)
      if (record === undefined || record.deletedAt !== null) continue
      samples.push(...samplesOf(record, insights, { at: now, source: 'list', startedAt }))
      read.set(record.id, record)
    }
    const singles = new Map(reading.single.map(({ contentId, insights }) => [contentId, insights]))
    const asked = await analyticsContent.find(tx, { id: anyOf([...singles.keys()]), deletedAt: null })
    for (const record of asked) {
      const insights = singles.get(record.id) ?? {}
      samples.push(...samplesOf(record, insights, { at: now, source: 'post', startedAt }))
      read.set(record.id, record)
    }
    // A post can be in the list and be asked for by itself: the figures of the second reply count.
    const newest = new Map(samples.map((sample) => [`${sample.contentId} ${sample.figure}`, sample]))
    await recorder.record(tx, { accountId, zone }, [...newest.values()])
    const all = [...read.values()]
    const nextTimes = all.map((record) => nextAtOf(record, now))
    await markRead.run(tx, { ids: all.map(({ id }) => id), nextTimes, at })
    for (const { contentId, reason } of reading.gone) {
      await analyticsContent.update(tx, { id: contentId }, { goneReason: reason, nextAt: null, updatedAt: at })
    }
    for (const [dimension, groups] of Object.entries(reading.audience)) {
      await analyticsAudience.insert(tx, { accountId, at, dimension, groups }, { ignoreConflict: true })
    }
    const imported = reading.importCursor === null
    await analyticsAccounts.update(
      tx,
      { accountId },
      {
        // A reading that failed at its first call has no reply.
        ...((reading.error === undefined || samples.length > 0) && {
          startedAt: new Date(startedAt).toISOString(),
          collectedAt: at,
        }),
        askedAt: null,
        ...(reading.importCursor !== undefined && { importCursor: reading.importCursor }),
        ...(imported && row.importedAt === null && { importedAt: at }),
        updatedAt: at,
      },
    )
    if (reading.error !== undefined) {
      return this.#missed(tx, row, gapReasonOf(reading.error), reading.error.retryAfter)
    }
    await closeGap(tx, accountId, now)
    const soonest = await analyticsContent.first(
      tx,
      { accountId, deletedAt: null, nextAt: atMost(new Date(now + 6 * HOUR).toISOString()) },
      { columns: ['nextAt'], orderBy: ['nextAt asc'] },
    )
    const isImporting = !imported && row.importedAt === null && reading.importCursor !== undefined
    const nextDue = isImporting ? now : soonest?.nextAt == null ? undefined : Date.parse(soonest.nextAt)
    const nextAt = new Date(nextForAccount(now, nextDue, everyMs)).toISOString()
    await analyticsAccounts.update(tx, { accountId }, { failureCount: 0, nextAt })
  }

  async #missed(
    tx: Transaction,
    { accountId, failureCount }: AnalyticsAccountRow,
    reason: GapReason,
    retryAfter: number | undefined,
  ): Promise<void> {
    const now = this.#needs.clock.now()
    await openGap(tx, accountId, reason, now)
    const next = nextAfterFailure(now, failureCount + 1, retryAfter)
    await analyticsAccounts.update(
      tx,
      { accountId },
      {
        failureCount: failureCount + 1,
        askedAt: null,
        nextAt: new Date(next).toISOString(),
        updatedAt: new Date(now).toISOString(),
      },
    )
  }
}

interface Read {
  readonly ids: readonly string[]
  readonly nextTimes: readonly (string | null)[]
  readonly at: string
}

const markRead = query({ analyticsContent }, (db, $: Read) =>
  db
    .updateTable('analyticsContent as c')
    .from(
      raw<{ id: string; nextAt: string | null }>`unnest(${$.ids}::uuid[], ${$.nextTimes}::timestamptz[])`.as<'r'>(
        raw`r (id, next_at)`,
      ),
    )
    .set((e) => ({ collectedAt: $.at, nextAt: e.ref('r.nextAt'), goneReason: null, updatedAt: $.at }))
    .whereRef('c.id', '=', 'r.id'),
)

/** Whether an account has not replied yet on this day of its zone. Audiences change slowly, and cost several calls. */
function isFirstOfDay({ collectedAt, zone }: AnalyticsAccountRow, now: number): boolean {
  return collectedAt === null || dayOf(Date.parse(collectedAt), zone) < dayOf(now, zone)
}

/** When all nearly used-up call budgets are full again. Undefined if there are none. Budgets of posts do not count. */
function usedUp(budgets: readonly StoredBudget[], now: number): number | undefined {
  const resets = budgets.flatMap(({ counts, limit, remaining, resetsAt }) => {
    const at = Date.parse(resetsAt)
    return counts === undefined && limit !== null && at > now && remaining < limit * KEPT_SHARE ? [at] : []
  })
  return resets.length === 0 ? undefined : Math.max(...resets)
}
