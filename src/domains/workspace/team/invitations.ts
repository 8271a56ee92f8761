import type { Caller } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { secretToken, sha256, uuidv7 } from '../../../tools/id.ts'
import { mergedPages, pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf, atMost, greaterThan } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { sendMail } from '../../../mail/jobs.ts'
import type { MailLimits } from '../../../mail/limits.ts'
import { findUserByEmail, normalizeEmail } from '../../identity/users/index.ts'
import { notify } from '../../talk/notifications/index.ts'
import { findMembership } from '../workspaces/index.ts'
import { invitationReceived } from './notifications.ts'
import {
  managerOf,
  requireGrantable,
  requireNotOutranked,
  requireOwner,
  unrestrictedScopes,
  type Actor,
} from './authority.ts'
import { AlreadyInvited, AlreadyMember } from './errors.ts'
import { invitationCreated, invitationResent, invitationRevoked } from './events.ts'
import {
  findInvitation,
  hasRole,
  invitationFacts,
  invitationView,
  statusOf,
  withDetails,
  type InvitationRow,
} from './invitation-row.ts'
import { invitationMail } from './mail.ts'
import { ownerHasAll } from './members.ts'
import { overridesFor, type Overrides } from './overrides.ts'
import { refused, roleOf, type ChosenRole } from './role-choice.ts'
import type { InvitationData, InvitationQuery, InvitationStatus, NewInvitation } from './schemas.ts'
import type { Seats } from './seats.ts'
import { invitations } from './tables.ts'

const LIFETIME_MS = 7 * DAY

/** Invitations as the managers of a team see them. */
export class Invitations {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #mailLimits: MailLimits
  readonly #publicUrl: string
  readonly #seats: Seats

  constructor(
    { clock, config, database, mailLimits }: Pick<Foundation, 'clock' | 'config' | 'database' | 'mailLimits'>,
    seats: Seats,
  ) {
    this.#sql = database
    this.#clock = clock
    this.#mailLimits = mailLimits
    this.#publicUrl = config.PUBLIC_URL
    this.#seats = seats
  }

  /** Newest first. Without a status: open and expired ones. */
  async list(workspaceId: string, filter: Static<typeof InvitationQuery>): Promise<PageResult<InvitationData>> {
    const page = pageRequest(filter)
    const now = this.#clock.now()
    const conditions = filter.status?.map((status) => withStatus(status, new Date(now))) ?? [UNANSWERED]
    const pages = await Promise.all(
      conditions.map((status) => invitations.page(this.#sql, { workspaceId, ...status }, page)),
    )
    return pageOf(
      await withDetails(this.#sql, mergedPages(pages, page)),
      page.limit,
      (row) => row,
      (row) => invitationView(row, now),
    )
  }

  /**
   * Invites the user who has or gets this address. The invitation is valid for seven days, and grants no scope that the
   * inviter lacks.
   * @throws AppError cannot_grant, owners_only, already_member, already_invited, plan_limit_reached,
   *   validation_failed, too_many_mails
   */
  async invite(turn: Turn, caller: Caller, input: Static<typeof NewInvitation>): Promise<InvitationData> {
    const actor = await managerOf(turn, caller)
    const role = await roleOf(turn, input)
    if (role === undefined) throw refused('/body/role', 'is required, or roleId')
    const overrides = overridesOf(role, input.scopes)
    requireOwnerFor(actor, role.builtIn)
    requireGrantable(actor, [...role.scopes, ...overrides.added])
    const now = new Date(this.#clock.now())
    const email = normalizeEmail(input.email)
    await this.#requireNew(turn, email, now)
    await this.#seats.requireForInvitation(turn, now)
    await this.#requireMail(turn, caller, email)
    const token = secretToken(32)
    const id = uuidv7(now.getTime())
    turn.insert(invitations, {
      id,
      workspaceId: turn.workspaceId,
      email,
      tokenHash: sha256(token),
      role: role.builtIn,
      roleId: role.roleId,
      addedScopes: [...overrides.added],
      removedScopes: [...overrides.removed],
      message: input.message ?? null,
      status: 'open',
      invitedBy: caller.userId,
      sentAt: now,
      expiresAt: new Date(now.getTime() + LIFETIME_MS),
      createdAt: now,
      updatedAt: now,
    })
    const row = await this.#find(turn, id)
    await this.#send(turn, row, token)
    turn.emit(invitationCreated, invitationFacts(row))
    return this.#audited(turn, row)
  }

  /**
   * Sends an open or expired invitation again, with the caller as its inviter and a new link that is valid for seven days.
   * The earlier link stops working.
   * @throws AppError not_found, conflict, cannot_grant, owners_only, already_member, already_invited,
   *   plan_limit_reached, too_many_mails
   */
  async resend(turn: Turn, caller: Caller, id: string): Promise<InvitationData> {
    const actor = await managerOf(turn, caller)
    const before = await this.#find(turn, id)
    const now = new Date(this.#clock.now())
    const status = statusOf(before, now.getTime())
    if (status !== 'open' && status !== 'expired') {
      throw Conflict({ message: `The invitation was ${status} and cannot be sent again.` })
    }
    if (!hasRole(before))
      throw Conflict({ message: 'The role of the invitation was deleted. Create a new invitation.' })
    requireOwnerFor(actor, before.role)
    requireGrantable(actor, unrestrictedScopes(before))
    if (status === 'expired') {
      await this.#requireNew(turn, before.email, now)
      await this.#seats.requireForInvitation(turn, now)
    }
    await this.#requireMail(turn, caller, before.email)
    const token = secretToken(32)
    await invitations.update(
      turn.sql,
      { id },
      {
        tokenHash: sha256(token),
        status: 'open',
        invitedBy: caller.userId,
        sentAt: now,
        expiresAt: new Date(now.getTime() + LIFETIME_MS),
        updatedAt: now,
      },
    )
    const row = await this.#find(turn, id)
    await this.#send(turn, row, token)
    turn.emit(invitationResent, invitationFacts(row))
    return this.#audited(turn, row)
  }

  /**
   * Revokes an invitation. Its link stops working at once. Inviters can always revoke their own invitations.
   * @throws AppError not_found, owners_only, outranked; conflict when it was already answered or revoked
   */
  async revoke(turn: Turn, caller: Caller, id: string): Promise<void> {
    const actor = await managerOf(turn, caller)
    const row = await this.#find(turn, id)
    if (row.invitedBy !== caller.userId) {
      if (row.role === 'owner') requireOwner(actor, 'Only an owner can revoke the invitation of an owner.')
      requireNotOutranked(actor, unrestrictedScopes(row), 'This invitation')
    }
    if (row.status !== 'open' && row.status !== 'expired') {
      throw Conflict({ message: `The invitation was already ${row.status}.` })
    }
    const updatedAt = new Date(this.#clock.now())
    await invitations.update(turn.sql, { id }, { status: 'revoked', updatedAt })
    turn.emit(invitationRevoked, invitationFacts(row))
    this.#audited(turn, row)
  }

  /**
   * Checks that the address belongs to no member and has no open invitation. Marks an expired one as such, because the
   * database allows one open invitation for each address.
   */
  async #requireNew({ sql, workspaceId }: Turn, email: string, now: Date): Promise<void> {
    const user = await findUserByEmail(sql, email, { columns: ['id'] })
    if (user && (await findMembership(sql, workspaceId, user.id))) throw AlreadyMember()
    const open = { workspaceId, email, status: 'open' } as const
    await invitations.update(sql, { ...open, expiresAt: atMost(now) }, { status: 'expired' })
    const other = await invitations.first(sql, open, { columns: ['id'] })
    if (other !== undefined) throw AlreadyInvited({ details: { invitationId: other.id } })
  }

  /** Counts the mail against the limits on mail. @throws AppError too_many_mails */
  async #requireMail(turn: Turn, { userId: accountId }: Caller, to: string): Promise<void> {
    const { workspaceId } = turn
    await this.#mailLimits.require(turn.sql, { kind: 'invitation', to, accountId, workspaceId })
  }

  async #send(turn: Turn, row: InvitationRow, token: string): Promise<void> {
    const invited = await findUserByEmail(turn.sql, row.email, { columns: ['id', 'locale'] })
    const mail = invitationMail({
      to: row.email,
      workspaceName: row.workspaceName,
      inviter: { name: row.inviter?.name ?? '', email: row.inviter?.email ?? '' },
      role: invitationFacts(row).role ?? '',
      message: row.message,
      token,
      expiresAt: new Date(row.expiresAt),
      publicUrl: this.#publicUrl,
      language: invited?.locale ?? 'en',
    })
    turn.job(sendMail, { ...mail })
    if (invited === undefined) return
    const data = { invitationId: row.id, invitedTo: row.workspaceName }
    notify(turn, invitationReceived, { to: [invited.id], actorId: row.invitedBy, data })
  }

  #audited(turn: Turn, row: InvitationRow): InvitationData {
    const view = invitationView(row, this.#clock.now())
    const { email, role, scopes } = view
    turn.audit({ kind: 'invitation', id: row.id, details: { email, role, scopes } })
    return view
  }

  async #find(turn: Turn, id: string): Promise<InvitationRow> {
    const row = await findInvitation(turn.sql, { id, workspaceId: turn.workspaceId })
    if (row === undefined) throw NotFound()
    return row
  }
}

/** The condition for a status. An expired row keeps the status open until the address is invited again. */
function withStatus(status: InvitationStatus, now: Date) {
  if (status === 'open') return { status, expiresAt: greaterThan(now) }
  return status === 'expired' ? { ...UNANSWERED, expiresAt: atMost(now) } : { status }
}

const UNANSWERED = { status: anyOf<InvitationStatus>(['open', 'expired']) }

function overridesOf(role: ChosenRole, scopes: readonly Scope[] | undefined): Overrides {
  if (scopes === undefined) return { added: [], removed: [] }
  if (role.builtIn === 'owner') throw ownerHasAll()
  return overridesFor(new Set(role.scopes), scopes)
}

function requireOwnerFor(actor: Actor, role: string | null): void {
  if (role === 'owner') requireOwner(actor, 'Only an owner can invite an owner.')
}
