import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { EmailUnverified, NotFound } from '../../../core/errors.ts'
import { isUuid, sha256 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf, greaterThan } from '../../../db/condition.ts'
import { findUser, normalizeEmail } from '../../identity/users/index.ts'
import { notify } from '../../talk/notifications/index.ts'
import { addMember, findMembership, findNames, memberIds, type MemberCache } from '../workspaces/index.ts'
import { memberJoined } from './notifications.ts'
import { lackedBy, rightsOf, unrestrictedScopes } from './authority.ts'
import {
  AlreadyMember,
  InvitationExpired,
  InvitationForAnother,
  InvitationRevoked,
  InvitationUsed,
  InviterMayNotGrant,
} from './errors.ts'
import { invitationAccepted, invitationDeclined, memberAdded } from './events.ts'
import {
  findInvitation,
  invitationFacts,
  invitationPreview,
  myInvitation,
  statusOf,
  withDetails,
  type InvitationRow,
} from './invitation-row.ts'
import { findMember, memberState } from './member-row.ts'
import type { InvitationPreview, InvitationStatus, MemberData, MyInvitation } from './schemas.ts'
import type { Seats } from './seats.ts'
import { invitations } from './tables.ts'

const TOKEN = /^[\w-]{43}$/
/** Invitations as the invited users see them. */
export class InvitationAnswers {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #seats: Seats
  readonly #members: MemberCache

  constructor(sql: Sql, clock: Clock, seats: Seats, members: MemberCache) {
    this.#sql = sql
    this.#clock = clock
    this.#seats = seats
    this.#members = members
  }

  /** What anybody who has the link may see. @throws AppError not_found, invitation_expired, …_revoked, …_used */
  async preview(token: string): Promise<Static<typeof InvitationPreview>> {
    // Ids are not secret, so only a token is accepted here.
    const row = TOKEN.test(token) ? await find(this.#sql, token, undefined) : undefined
    if (row === undefined) throw NotFound()
    this.#requireOpen(row)
    return invitationPreview(row)
  }

  /** Open invitations to the caller's address, newest first. None while the address is unconfirmed. */
  async mine(caller: Caller, page: PageRequest): Promise<PageResult<Static<typeof MyInvitation>>> {
    const email = await confirmedAddress(this.#sql, caller.userId)
    const none = { items: [], limit: page.limit, nextCursor: null }
    if (email === undefined) return none
    const now = new Date(this.#clock.now())
    const open = { email, status: 'open', expiresAt: greaterThan(now) } as const
    const all = await invitations.find(this.#sql, open, { columns: ['workspaceId'] })
    if (all.length === 0) return none
    const names = await findNames(
      this.#sql,
      all.map(({ workspaceId }) => workspaceId),
    )
    // Deleted workspaces are left out here and not after reading, so that every page but the last is full.
    const toPresent = { ...open, workspaceId: anyOf([...names.keys()]) }
    const rows = await withDetails(this.#sql, await invitations.page(this.#sql, toPresent, page), names)
    return pageOf(rows, page.limit, (row) => row, myInvitation)
  }

  /**
   * The workspace of an invitation in any status, so that the turn can report why the invitation cannot be used. Anybody
   * may ask by token, because it is secret. By id, only the invited user gets an answer.
   */
  async workspaceOf(tokenOrId: string, userId: string | undefined): Promise<string | undefined> {
    return (await find(this.#sql, tokenOrId, userId))?.workspaceId
  }

  /**
   * Makes the caller a member, if the inviter may still grant what the invitation offers.
   * @param tokenOrId the token in the mail, or an id from `mine`; the caller must have the invited address
   * @throws AppError not_found (also for the id of an invitation to somebody else), invitation_for_another,
   *   email_unverified, invitation_expired, invitation_revoked, invitation_used, already_member, inviter_may_not_grant,
   *   plan_limit_reached
   */
  async accept(turn: Turn, caller: Caller, tokenOrId: string): Promise<MemberData> {
    const row = await this.#find(turn, caller, tokenOrId)
    if ((await findMembership(turn.sql, turn.workspaceId, caller.userId)) !== undefined) throw AlreadyMember()
    await requireKept(turn, row)
    const now = new Date(this.#clock.now())
    await this.#seats.requireForMember(turn, now)
    await this.#close(turn, row, 'accepted', now)
    addMember(turn, caller.userId, row, now)
    const member = await findMember(turn.sql, turn.workspaceId, caller.userId)
    if (member === undefined) throw NotFound()
    const state = memberState(member)
    turn.audit({
      kind: 'member',
      id: caller.userId,
      details: { email: row.email, role: state.role, scopes: state.scopes, invitedBy: row.invitedBy },
    })
    turn.emit(invitationAccepted, invitationFacts(row))
    turn.emit(memberAdded, state)
    const { userId } = caller
    notify(turn, memberJoined, { to: await memberIds(turn.sql, turn.workspaceId), actorId: userId, data: { userId } })
    this.#members.changes(turn)
    return state
  }

  /** @throws AppError as `accept`, for the errors that concern the invitation */
  async decline(turn: Turn, caller: Caller, tokenOrId: string): Promise<void> {
    const row = await this.#find(turn, caller, tokenOrId)
    await this.#close(turn, row, 'declined', new Date(this.#clock.now()))
    turn.emit(invitationDeclined, invitationFacts(row))
  }

  /** The open invitation. Checks that it is addressed to the caller. */
  async #find(turn: Turn, caller: Caller, tokenOrId: string): Promise<InvitationRow> {
    const row = await find(turn.sql, tokenOrId, caller.userId)
    if (row === undefined || row.workspaceId !== turn.workspaceId) throw NotFound()
    const user = await findUser(turn.sql, caller.userId, { columns: ['email', 'emailVerified'] })
    if (user === undefined || normalizeEmail(user.email) !== row.email) throw InvitationForAnother()
    if (!user.emailVerified) throw EmailUnverified()
    this.#requireOpen(row)
    return row
  }

  #requireOpen(row: InvitationRow): void {
    const status = statusOf(row, this.#clock.now())
    if (status === 'expired') throw InvitationExpired()
    if (status === 'revoked') throw InvitationRevoked()
    if (status !== 'open') throw InvitationUsed({ message: `The invitation was already ${status}.` })
  }

  async #close(turn: Turn, row: InvitationRow, status: InvitationStatus, now: Date): Promise<void> {
    await invitations.update(turn.sql, { id: row.id }, { status, updatedAt: now })
    turn.audit({ kind: 'invitation', id: row.id, details: { email: row.email } })
  }
}

/** Finds an invitation by its token, or by its id if the user has confirmed the invited address. */
async function find(sql: Sql, tokenOrId: string, userId: string | undefined): Promise<InvitationRow | undefined> {
  if (isUuid(tokenOrId)) {
    const email = userId === undefined ? undefined : await confirmedAddress(sql, userId)
    return email === undefined ? undefined : findInvitation(sql, { id: tokenOrId, email })
  }
  return findInvitation(sql, { tokenHash: sha256(tokenOrId) })
}

/** The address of a user, if they have confirmed it. */
async function confirmedAddress(sql: Sql, userId: string): Promise<string | undefined> {
  const user = await findUser(sql, userId, { columns: ['email', 'emailVerified'] })
  return user?.emailVerified ? user.email : undefined
}

async function requireKept(turn: Turn, row: InvitationRow): Promise<void> {
  const inviter = row.invitedBy === null ? undefined : await rightsOf(turn, row.invitedBy)
  const kept =
    inviter !== undefined &&
    inviter.scopes.has('team:manage') &&
    (row.role !== 'owner' || inviter.isOwner) &&
    lackedBy(inviter, unrestrictedScopes(row)).length === 0
  if (!kept) throw InviterMayNotGrant()
}
