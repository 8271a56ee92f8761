import type { Caller } from '../../../core/caller.ts'
import { DAY } from '../../../core/clock.ts'
import { AppError } from '../../../core/error.ts'
import { Conflict } from '../../../core/errors.ts'
import type { PersonalData } from '../../../core/personal-data.ts'
import type { Services } from '../../../core/services.ts'
import type { Sql } from '../../../core/sql.ts'
import { atMost } from '../../../db/condition.ts'
import type { Transaction } from '../../../db/database.ts'
import type { Foundation } from '../../../foundation.ts'
import { Postman } from '../../../mail/postman.ts'
import { accountDeletionMail } from '../../../mail/templates.ts'
import { announceCredentials, eraseUser, findUser } from '../users/index.ts'
import { ownedBy } from './owned-rows.ts'
import type { AccountDeletionData, DeletionProof } from './schemas.ts'
import { accountDeletions } from './tables.ts'
import { departTurn } from './turns.ts'

/** How long an account can be restored. */
const GRACE_MS = 30 * DAY
/** Accounts that one run deletes. */
const BATCH = 20

type Parts = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'jobs' | 'log' | 'turns'>
type Used = Pick<Services, 'auth' | 'billing' | 'users' | 'workspaces'>

/**
 * Deletes accounts 30 days after their owners have asked for it. What belongs to others or is kept by law stays, and
 * refers to an account without name and address.
 */
export class AccountDeletions {
  readonly #foundation: Parts
  readonly #services: Used
  readonly #personal: PersonalData
  readonly #postman: Postman

  constructor(foundation: Parts, services: Used, personal: PersonalData) {
    this.#foundation = foundation
    this.#services = services
    this.#personal = personal
    this.#postman = new Postman(foundation.jobs)
  }

  async get({ userId }: Caller): Promise<AccountDeletionData> {
    return viewOf(await accountDeletions.first(this.#foundation.database, { userId }))
  }

  /**
   * Plans the deletion, ends all sessions, and deletes all API keys. Repeating it changes nothing.
   * @throws AppError wrong_password, fresh_login_needed, wrong_second_factor, too_many_attempts
   */
  async request(caller: Caller, proof: DeletionProof): Promise<AccountDeletionData> {
    const { auth, billing } = this.#services
    const { clock, coordination, database } = this.#foundation
    await auth.reauthentication.require(caller, proof)
    const { userId } = caller
    const now = clock.now()
    const row = { userId, requestedAt: new Date(now), deleteAt: new Date(now + GRACE_MS), deletedAt: null }
    const view = await database.transaction(async (tx) => {
      const first = await accountDeletions.insert(tx, row, { ignoreConflict: true })
      await auth.reauthentication.endAccess(tx, userId)
      if (first > 0) await this.#mail(tx, userId, row.deleteAt)
      return viewOf(await accountDeletions.first(tx, { userId }))
    })
    announceCredentials(coordination, { kind: 'user', userId })
    await billing.subscriptions.setRecurring(userId, false).catch(unlessFree)
    return view
  }

  /** The account stays. Repeating it changes nothing. The subscription stays cancelled. */
  async cancel({ userId }: Caller): Promise<void> {
    await accountDeletions.delete(this.#foundation.database, { userId, deletedAt: null })
  }

  /** Deletes some of the accounts whose time is over. @returns how many */
  async deleteDue(signal: AbortSignal): Promise<number> {
    const { clock, database } = this.#foundation
    const due = await accountDeletions.find(
      database,
      { deleteAt: atMost(new Date(clock.now())), deletedAt: null },
      { columns: ['userId'], orderBy: ['deleteAt asc'], limit: BATCH },
    )
    let deleted = 0
    for (const { userId } of due) {
      if (signal.aborted) break
      await this.#delete(userId)
      deleted += 1
    }
    return deleted
  }

  async #delete(userId: string): Promise<void> {
    const { clock, coordination, database, log, turns } = this.#foundation
    const { users, workspaces } = this.#services
    for (const { id } of await workspaces.service.ofUser(userId)) await turns.system(id, departTurn, { userId })
    await users.pictures.remove({ userId })
    await database.transaction(async (tx) => {
      const now = new Date(clock.now())
      const first = await accountDeletions.update(tx, { userId, deletedAt: null }, { deletedAt: now })
      if (first === 0) return
      await this.#services.auth.reauthentication.endAccess(tx, userId)
      for (const [name, { deletion, through }] of Object.entries(this.#personal)) {
        if (deletion === 'deleted') await deleteRows(tx, name, through, userId)
      }
      await eraseUser(tx, userId, now)
    })
    announceCredentials(coordination, { kind: 'user', userId })
    log.info({ userId }, 'an account was deleted')
  }

  async #mail(tx: Transaction, userId: string, deleteAt: Date): Promise<void> {
    const user = await findUser(tx, userId)
    if (user?.emailVerified) await this.#postman.post(tx, accountDeletionMail(user, deleteAt))
  }
}

async function deleteRows(sql: Sql, name: string, through: string | undefined, userId: string): Promise<void> {
  const [table = '', column = ''] = name.split('.')
  // Written by hand: the table is a value here, so no statement can be typed.
  await sql.run(`delete from ${table} t where ${ownedBy(column, through)}`, [userId])
}

function viewOf(row: { requestedAt: string; deleteAt: string } | undefined): AccountDeletionData {
  return { requestedAt: row?.requestedAt ?? null, deleteAt: row?.deleteAt ?? null }
}

/** A free plan has no cycle to cancel. */
function unlessFree(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== Conflict.code) throw error
}
