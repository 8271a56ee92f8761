import { DAY, MINUTE, type Clock } from '../../../../core/clock.ts'
import type { Jobs } from '../../../../core/job.ts'
import type { Sql, Transaction } from '../../../../core/sql.ts'
import { anyOf, atMost } from '../../../../db/condition.ts'
import { accountsAfter } from '../../../social/accounts/index.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { collectAccount } from '../jobs.ts'
import { analyticsAccounts } from '../tables.ts'

/** Accounts that one run of the schedule takes. */
const BATCH = 500
/** Until when an account is not taken again while its job waits. */
const WAIT_MS = 15 * MINUTE
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** Finds the accounts that are due, and adds a job for each. */
export class CollectionWatch {
  readonly #isOn: boolean
  readonly #clock: Clock
  readonly #jobs: Jobs

  /** @param isOn whether accounts are read by themselves */
  constructor(clock: Clock, jobs: Jobs, isOn: boolean) {
    this.#isOn = isOn
    this.#clock = clock
    this.#jobs = jobs
  }

  async addDue(tx: Transaction): Promise<void> {
    if (!this.#isOn) return
    await this.#addNew(tx)
    const now = this.#clock.now()
    const due = await analyticsAccounts.find(
      tx,
      { nextAt: atMost(new Date(now).toISOString()) },
      { columns: ['accountId', 'workspaceId'], orderBy: ['nextAt asc'], limit: BATCH },
    )
    for (const { accountId, workspaceId } of due) {
      await this.#jobs.add(tx, collectAccount, { accountId, asked: false }, { key: accountId, workspaceId })
    }
    if (due.length === 0) return
    const nextAt = new Date(now + WAIT_MS).toISOString()
    await analyticsAccounts.update(tx, { accountId: anyOf(due.map(({ accountId }) => accountId)) }, { nextAt })
  }

  /** Adds accounts that were connected since the last run. Ids sort by time. */
  async #addNew(tx: Transaction): Promise<void> {
    const last = await analyticsAccounts.first(tx, {}, { columns: ['accountId'], orderBy: ['accountId desc'] })
    // A transaction that began earlier can commit later, so the last day is looked at again.
    const from = last === undefined ? FIRST_ID : dayEarlier(last.accountId)
    const accounts = await accountsAfter(tx, from, BATCH)
    for (const { id, platform, workspaceId } of accounts) await this.add(tx, { id, platform, workspaceId })
  }

  async add(
    sql: Sql,
    { id, platform, workspaceId }: { readonly id: string; readonly platform: string; readonly workspaceId: string },
  ): Promise<void> {
    if (await analyticsAccounts.exists(sql, { accountId: id })) return
    const at = new Date(this.#clock.now()).toISOString()
    const zone = await timeZoneOf(sql, workspaceId)
    const row = { accountId: id, workspaceId, platform, zone, nextAt: at, updatedAt: at }
    await analyticsAccounts.insert(sql, row, { ignoreConflict: true })
  }
}

/** The smallest id of a day before that of an id. */
function dayEarlier(id: string): string {
  const at = Math.max(0, Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) - DAY)
  const hex = at.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
