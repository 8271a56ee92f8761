import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult, StoredJson } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { not } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import type { Changes } from '../../../db/table.ts'
import { findPlatform } from '../../../platforms/registry.ts'
import { findAccounts, type AccountFilter } from './account-list.ts'
import type { AccountPosts } from './account-posts.ts'
import { AccountMismatch } from './errors.ts'
import { socialAccountCreated, socialAccountUpdated } from './events.ts'
import type { SealedGrant } from './grants.ts'
import { dueReminder, notifyOfAccess } from './notices.ts'
import { PUBLISHING_STATUSES } from './posting.ts'
import type { SocialAccountData, SocialAccountDetailsData } from './schemas.ts'
import type { AccountSeats } from './seats.ts'
import { statusOf, type AccountStatus } from './status.ts'
import {
  accountHistory,
  socialAccounts,
  socialCredentials,
  type SocialAccount,
  type SocialAccountRow,
} from './tables.ts'
import type { SealedCredential } from './vault.ts'
import { accountView } from './views.ts'

const SHOWN_HISTORY = 50

export interface ConnectOptions {
  readonly userId: string
  /** The account that must be connected again. */
  readonly expected?: string | undefined
  /** The login that the account belongs to. */
  readonly loginId?: string
}

type SharedAccount = Pick<SocialAccountRow, 'platform' | 'remoteId' | 'workspaceId'>

/** Who changed an account; `actorId` is null for the service. */
interface ChangedBy {
  readonly actorId: string | null
  /** For the history. */
  readonly reason: string | null
}

/** The social accounts of workspaces and their status. */
export class SocialAccounts {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #seats: AccountSeats
  #posts: AccountPosts | undefined

  constructor(sql: Sql, clock: Clock, seats: AccountSeats) {
    this.#sql = sql
    this.#clock = clock
    this.#seats = seats
  }

  /** Registers publishing, which depends on accounts. */
  registerPosts(posts: AccountPosts): void {
    this.#posts = posts
  }

  get posts(): AccountPosts | undefined {
    return this.#posts
  }

  async list(filter: AccountFilter, page: PageRequest): Promise<PageResult<StoredJson<SocialAccountData>>> {
    const rows = await findAccounts(this.#sql, filter, page)
    return pageOf(
      rows,
      page.limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      ({ json }) => json,
    )
  }

  /** @throws AppError not_found */
  async details(id: string): Promise<SocialAccountDetailsData> {
    const [row, history] = await Promise.all([
      this.find(this.#sql, id),
      accountHistory.find(this.#sql, { accountId: id }, { orderBy: ['id desc'], limit: SHOWN_HISTORY }),
    ])
    return {
      ...accountView(row),
      history: history.map(({ actorId, at, reason, status }) => ({ status, reason, actorId, at })),
    }
  }

  /** @throws AppError not_found */
  async find(sql: Sql, id: string): Promise<SocialAccountRow> {
    const row = await socialAccounts.first(sql, { id })
    if (row === undefined) throw NotFound()
    return row
  }

  /**
   * Connects an account. An account that was connected before keeps its id, posts and history.
   * @throws AppError plan_limit_reached; account_mismatch when another account was expected
   */
  async connect(turn: Turn, grant: SealedGrant, options: ConnectOptions): Promise<SocialAccountData> {
    const { platform, profile } = grant
    const { remoteId } = profile
    const known = await socialAccounts.first(
      turn.sql,
      { workspaceId: turn.workspaceId, platform, remoteId },
      { lock: 'for update' },
    )
    await this.#requireExpected(turn, grant, known, options.expected)
    if (needsSeat(known)) await this.#seats.requireRoom(turn, 1)
    const at = new Date(this.#clock.now()).toISOString()
    const facts = {
      ...profileColumns(grant),
      brokenReason: null,
      remindedDays: null,
      archivedAt: null,
      archivedByPlan: false,
      removedAt: null,
      suspendedAt: known?.suspendedAt ?? null,
      connectedBy: options.userId,
      connectedAt: at,
      checkedAt: at,
      updatedAt: at,
    }
    const status = statusOf(facts, this.#clock.now())
    const loginId = options.loginId ?? known?.loginId ?? null
    const made = {
      id: known?.id ?? uuidv7(this.#clock.now()),
      workspaceId: turn.workspaceId,
      platform,
      remoteId,
      loginId,
      sharesLogin: grant.credential === null,
      createdAt: known?.createdAt ?? at,
      ...facts,
      status,
      statusReason: reasonFor(status, { ...facts, platform, loginId }),
    }
    const row: SocialAccountRow = { ...made, view: accountView(made) }
    const { createdAt: _createdAt, id, ...changes } = row
    if (known === undefined) await socialAccounts.insert(turn.sql, row)
    else await socialAccounts.update(turn.sql, { id }, changes)
    if (grant.credential !== null) await this.#storeCredential(turn.sql, id, grant.credential, at)
    await this.#followLogin(turn, id, null, { actorId: options.userId, reason: 'the login was connected again' })
    turn.insert(accountHistory, {
      id: uuidv7(this.#clock.now()),
      accountId: id,
      status,
      reason: known === undefined ? 'connected' : 'connected again',
      actorId: options.userId,
      at,
    })
    turn.emit(known === undefined ? socialAccountCreated : socialAccountUpdated, row.view)
    turn.audit({ kind: 'social_account', id })
    if (known !== undefined) await this.#tellPosts(turn, known.status, row)
    return row.view
  }

  /**
   * Changes facts of an account. Its status follows from them. A new status adds an entry to the history and emits an
   * event.
   * @param reason of the change, for the history
   * @throws AppError not_found
   */
  async change(
    turn: Turn,
    id: string,
    changes: Changes<typeof SocialAccount>,
    { actorId, reason }: ChangedBy,
  ): Promise<SocialAccountData> {
    const old = await socialAccounts.first(turn.sql, { id, workspaceId: turn.workspaceId }, { lock: 'for update' })
    if (old === undefined) throw NotFound()
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const facts = { ...old, ...changes, updatedAt: at } as SocialAccountRow
    const status = statusOf(facts, now)
    const statusReason = reasonFor(status, facts)
    const view = accountView({ ...facts, status, statusReason })
    const row = { ...facts, status, statusReason, view }
    await socialAccounts.update(turn.sql, { id }, { ...changes, status, statusReason, view, updatedAt: at })
    if (status !== old.status) {
      turn.insert(accountHistory, { id: uuidv7(now), accountId: id, status, reason, actorId, at })
      if (status === 'reconnect_needed' && actorId === null) await notifyOfAccess(turn, row, null)
    }
    turn.emit(socialAccountUpdated, view)
    turn.audit({ kind: 'social_account', id })
    await this.#tellPosts(turn, old.status, row)
    return view
  }

  /** Updates a status that depends on the time, and reminds the user before the access ends. @throws AppError not_found */
  async review(turn: Turn, id: string): Promise<void> {
    const row = await this.find(turn.sql, id)
    const remindedDays = dueReminder(row, this.#clock.now())
    const by = { actorId: null, reason: 'the access is about to end' }
    await this.change(turn, id, remindedDays === undefined ? {} : { remindedDays }, by)
    if (remindedDays !== undefined) await notifyOfAccess(turn, row, remindedDays)
  }

  /**
   * Records why the credential of an account no longer works, also for the accounts that share it.
   * @param brokenReason null when it works again
   * @throws AppError not_found
   */
  async setBroken(turn: Turn, id: string, brokenReason: string | null, changes: Changes<typeof SocialAccount>) {
    const by = { actorId: null, reason: brokenReason ?? 'the access was renewed' }
    await this.change(turn, id, { ...changes, brokenReason }, by)
    await this.#followLogin(turn, id, brokenReason, by)
  }

  /** The other workspaces of this server to which the same account is connected. */
  async countElsewhere(sql: Sql, { platform, remoteId, workspaceId }: SharedAccount): Promise<number> {
    return socialAccounts.count(sql, { platform, remoteId, workspaceId: not(workspaceId), removedAt: null })
  }

  /** Tells publishing about a status in which posts are cancelled, held or go out again. */
  async #tellPosts(turn: Turn, old: AccountStatus, { id, status, statusReason }: SocialAccountRow): Promise<void> {
    if (status === old || this.#posts === undefined) return
    if (status === 'removed') return this.#posts.cancel(turn, id)
    if (old === 'removed') await this.#posts.restore(turn, id)
    const isHeld = !PUBLISHING_STATUSES.includes(status)
    if (!isHeld && PUBLISHING_STATUSES.includes(old)) return
    const reason = statusReason ?? `the account is ${status.replaceAll('_', ' ')}.`
    await this.#posts.hold(turn, id, isHeld ? reason : null)
  }

  /** Gives the accounts that use the credential of a login the same state. */
  async #followLogin(turn: Turn, loginId: string, brokenReason: string | null, by: ChangedBy): Promise<void> {
    const followers = await socialAccounts.find(
      turn.sql,
      { loginId, sharesLogin: true, removedAt: null, workspaceId: turn.workspaceId },
      { columns: ['id', 'brokenReason'] },
    )
    for (const follower of followers) {
      if (follower.brokenReason !== brokenReason) await this.change(turn, follower.id, { brokenReason }, by)
    }
  }

  async #requireExpected(
    turn: Turn,
    { platform, profile }: SealedGrant,
    known: SocialAccountRow | undefined,
    expected: string | undefined,
  ): Promise<void> {
    if (expected === undefined || expected === known?.id) return
    const wanted = await socialAccounts.first(turn.sql, { id: expected, workspaceId: turn.workspaceId })
    if (wanted === undefined) throw NotFound()
    const title = findPlatform(platform)?.title ?? platform
    throw AccountMismatch({
      message: `You signed in to ${title} as ${labelOf(profile)}, but ${labelOf(wanted)} was to be connected again. Sign out at ${title}, sign in as ${labelOf(wanted)}, and try again.`,
      details: { expected: labelOf(wanted), got: labelOf(profile) },
    })
  }

  async #storeCredential(sql: Sql, accountId: string, credential: SealedCredential, at: string): Promise<void> {
    // A refresh in progress loses its lease, so that it cannot overwrite the new credential.
    const changes = { ...credential, leaseToken: null, leaseUntil: null, updatedAt: at }
    const updated = await socialCredentials.update(sql, { accountId }, { ...changes, version: increment() })
    if (updated === 0) await socialCredentials.insert(sql, { accountId, version: 1, ...changes })
  }
}

/** Whether connecting an account takes a place of the plan. */
export function needsSeat(known: Pick<SocialAccountRow, 'archivedAt' | 'removedAt'> | undefined): boolean {
  return known === undefined || known.removedAt !== null || known.archivedAt !== null
}

/** The columns of an account that come from its grant. */
function profileColumns({ expiresAt, missingScopes, profile, refreshAt, sandbox, scopes }: SealedGrant) {
  const { avatarUrl, handle, kind, name, url } = profile
  return {
    name,
    handle,
    avatarUrl,
    url,
    kind,
    scopes: scopes === null ? null : [...scopes],
    missingScopes: [...missingScopes],
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    refreshAt: refreshAt === null ? null : new Date(refreshAt).toISOString(),
    sandbox,
  }
}

/** The notice about an account that is also connected elsewhere. Null if it is not. */
export function sharedNotice(workspaces: number): string | null {
  if (workspaces === 0) return null
  const others = workspaces === 1 ? 'another workspace' : `${workspaces} other workspaces`
  return `The same account is connected to ${others} of this server. They share its limits.`
}

/** The name of an account in messages. */
export function labelOf({ handle, name }: { readonly handle: string | null; readonly name: string }): string {
  return handle === null ? `“${name}”` : `@${handle}`
}

/** Why the grant of a disconnected account goes on, and how to end it. Null where disconnecting ends it. */
export function grantLeft({ loginId, platform }: Pick<SocialAccountRow, 'loginId' | 'platform'>): string | null {
  const { grantAdvice, grantsUrl, title = platform } = findPlatform(platform) ?? {}
  // The grant of a page is that of its login, which stays connected.
  if (loginId !== null) return null
  if (grantsUrl === undefined) return grantAdvice ?? null
  return `${title} has no way for Crier to end the access. Remove it there: ${grantsUrl}.`
}

type Reasoned = Pick<SocialAccountRow, 'platform' | 'loginId' | 'brokenReason' | 'missingScopes' | 'expiresAt'>

function reasonFor(
  status: AccountStatus,
  { brokenReason, expiresAt, loginId, missingScopes, platform }: Reasoned,
): string | null {
  const title = findPlatform(platform)?.title ?? platform
  const purposes = findPlatform(platform)?.oauth?.scopePurposes ?? {}
  switch (status) {
    case 'reconnect_needed':
      return `${title} no longer accepts our access: ${brokenReason ?? 'it has ended'}. Connect the account again.`
    case 'expiring':
      return `The access ends on ${expiresAt?.slice(0, 10)}. Connect the account again before then.`
    case 'limited':
      return `Not granted: ${missingScopes.map((scope) => `${scope} (needed to ${purposes[scope] ?? 'use everything'})`).join(', ')}. Connect the account again and allow it.`
    case 'removed':
      return grantLeft({ loginId, platform })
    case 'suspended':
      return 'An administrator of this server has suspended the account.'
    default:
      return null
  }
}
