import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { lessThan, not } from '../../../db/condition.ts'
import { findPlatform } from '../../../platforms/registry.ts'
import { AccountNotConnected } from './errors.ts'
import { socialAccountDeleted } from './events.ts'
import { revokeAccess } from './jobs.ts'
import type { DisconnectPreviewData, SocialAccountData } from './schemas.ts'
import type { AccountSeats } from './seats.ts'
import { grantLeft, type SocialAccounts } from './service.ts'
import { socialAccounts } from './tables.ts'

/** How long a removed account can be restored. */
const GRACE_MS = 30 * DAY

const ID = { columns: ['id'] } as const
/** Active again, and no longer for the plan to decide. */
const BACK = { archivedAt: null, archivedByPlan: false } as const

/** Archiving, suspending, removing and restoring accounts. */
export class AccountLifecycle {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #accounts: SocialAccounts
  readonly #seats: AccountSeats

  constructor(sql: Sql, clock: Clock, accounts: SocialAccounts, seats: AccountSeats) {
    this.#sql = sql
    this.#clock = clock
    this.#accounts = accounts
    this.#seats = seats
  }

  /** @throws AppError not_found */
  async preview(id: string): Promise<DisconnectPreviewData> {
    const row = await this.#accounts.find(this.#sql, id)
    const children = await this.#childrenOf(this.#sql, id)
    const posts = (await this.#accounts.posts?.due(this.#sql, [id, ...children.map((child) => child.id)])) ?? []
    return {
      posts: [...posts],
      accounts: children.map((child) => ({ accountId: child.id, name: child.name })),
      restorable: row.removedAt === null,
      grantMessage: grantLeft(row),
    }
  }

  /**
   * Removes an account and the pages of its login, cancels their scheduled posts, and revokes the access at the
   * platform. Removing a removed account changes nothing.
   * @throws AppError not_found
   */
  async remove(turn: Turn, id: string, userId: string): Promise<SocialAccountData> {
    const children = await this.#childrenOf(turn.sql, id)
    const removedAt = new Date(this.#clock.now()).toISOString()
    const by = { actorId: userId, reason: 'disconnected' }
    const removed = await this.#accounts.change(turn, id, { removedAt, refreshAt: null }, by)
    for (const child of children) {
      await this.#accounts.change(turn, child.id, { removedAt, refreshAt: null }, by)
    }
    // A page is removed without its login, whose grant stays.
    if (removed.loginAccountId === null && findPlatform(removed.platform)?.revoke !== undefined) {
      turn.job(revokeAccess, { accountId: id }, { key: `revoke ${id}` })
    }
    return removed
  }

  /**
   * Restores a removed account, and the pages that were removed with it. If its access was revoked, it must be connected
   * again, and keeps its posts and history.
   * @throws AppError not_found, plan_limit_reached; conflict when it is not removed, or its login is
   */
  async restore(turn: Turn, id: string, userId: string): Promise<SocialAccountData> {
    const row = await this.#accounts.find(turn.sql, id)
    if (row.removedAt === null) throw Conflict({ message: 'The account is not removed.' })
    if (row.loginId !== null && (await socialAccounts.exists(turn.sql, { id: row.loginId, removedAt: not(null) }))) {
      throw Conflict({ message: 'The login of this account is removed. Restore the login first.' })
    }
    const removedWith = { loginId: id, removedAt: row.removedAt }
    const children = await socialAccounts.find(turn.sql, removedWith, { columns: ['id', 'archivedAt'] })
    const seats = [row, ...children].filter(({ archivedAt }) => archivedAt === null)
    await this.#seats.requireRoom(turn, seats.length)
    const by = { actorId: userId, reason: 'restored' }
    for (const child of children) await this.#accounts.change(turn, child.id, { removedAt: null }, by)
    return this.#accounts.change(turn, id, { removedAt: null }, by)
  }

  /** @throws AppError not_found; conflict when it is removed or archived */
  async archive(turn: Turn, id: string, userId: string): Promise<SocialAccountData> {
    const row = await this.#accounts.find(turn.sql, id)
    if (row.removedAt !== null) throw removedError()
    if (row.archivedAt !== null) throw Conflict({ message: 'The account is archived already.' })
    const archivedAt = new Date(this.#clock.now()).toISOString()
    return this.#accounts.change(turn, id, { archivedAt }, { actorId: userId, reason: 'archived' })
  }

  /** Archives the accounts of a workspace that its payer does not keep on a smaller plan. Repeating it changes nothing. */
  async archiveOthers(turn: Turn, kept: readonly string[]): Promise<void> {
    const { workspaceId } = turn
    const active = await socialAccounts.find(turn.sql, { workspaceId, removedAt: null, archivedAt: null }, ID)
    const archivedAt = new Date(this.#clock.now()).toISOString()
    const by = { actorId: null, reason: 'archived, because the plan is smaller' }
    for (const { id } of active) {
      if (!kept.includes(id)) await this.#accounts.change(turn, id, { archivedAt, archivedByPlan: true }, by)
    }
  }

  /** Takes from the archive what a smaller plan has archived, the oldest first, until the plan has no more room. */
  async returnArchived(turn: Turn): Promise<void> {
    const { workspaceId } = turn
    const archived = await socialAccounts.find(
      turn.sql,
      { workspaceId, removedAt: null, archivedByPlan: true },
      { ...ID, orderBy: ['id asc'] },
    )
    const by = { actorId: null, reason: 'taken from the archive, because the plan is larger' }
    for (const { id } of archived) {
      if ((await this.#seats.roomOf(turn)).left < 1) return
      await this.#accounts.change(turn, id, BACK, by)
    }
  }

  /** @throws AppError not_found, plan_limit_reached; conflict when it is not archived */
  async unarchive(turn: Turn, id: string, userId: string): Promise<SocialAccountData> {
    const row = await this.#accounts.find(turn.sql, id)
    if (row.removedAt !== null) throw removedError()
    if (row.archivedAt === null) throw Conflict({ message: 'The account is not archived.' })
    await this.#seats.requireRoom(turn, 1)
    return this.#accounts.change(turn, id, BACK, { actorId: userId, reason: 'taken from the archive' })
  }

  /** Suspends an account, or lifts the suspension. @throws AppError not_found */
  async suspend(turn: Turn, id: string, adminId: string, suspended: boolean): Promise<SocialAccountData> {
    const suspendedAt = suspended ? new Date(this.#clock.now()).toISOString() : null
    const reason = suspended ? 'suspended' : 'suspension lifted'
    return this.#accounts.change(turn, id, { suspendedAt }, { actorId: adminId, reason })
  }

  /** Accounts whose 30 days are over, by workspace. */
  async expired(): Promise<readonly { readonly id: string; readonly workspaceId: string }[]> {
    const before = new Date(this.#clock.now() - GRACE_MS).toISOString()
    return socialAccounts.find(
      this.#sql,
      { removedAt: lessThan(before) },
      { columns: ['id', 'workspaceId'], limit: 500 },
    )
  }

  /** Permanently deletes a removed account, with its credential and history. */
  async purge(turn: Turn, id: string): Promise<void> {
    const before = new Date(this.#clock.now() - GRACE_MS).toISOString()
    const deleted = await socialAccounts.delete(turn.sql, { id, removedAt: lessThan(before) })
    if (deleted === 0) return
    await this.#accounts.posts?.forget(turn, id)
    turn.emit(socialAccountDeleted, { accountId: id })
  }

  #childrenOf(sql: Sql, id: string): Promise<{ id: string; name: string }[]> {
    return socialAccounts.find(sql, { loginId: id, removedAt: null }, { columns: ['id', 'name'] })
  }
}

function removedError() {
  return AccountNotConnected({
    message: 'The account was removed. Restore it first: POST /api/limits/accounts/{id}/restore.',
  })
}
