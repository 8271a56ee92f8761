import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { EmailUnverified, NotFound } from '../../../core/errors.ts'
import { isUuid, sha256 } from '../../../core/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { findUser, normalizeEmail } from '../../identity/users/index.ts'
import type { MemberCache } from '../workspaces/memberships.ts'
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
  invitationFacts,
  invitationPreview,
  myInvitation,
  SELECT_INVITATION,
  statusOf,
  type InvitationRow,
} from './invitation-row.ts'
import { findMember, memberState } from './member-row.ts'
import type { InvitationPreview, InvitationStatus, MemberData, MyInvitation } from './schemas.ts'
import type { Seats } from './seats.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly invitationAnswers: InvitationAnswers
  }
}

const TOKEN = /^[\w-]{43}$/
const BY_TOKEN = `${SELECT_INVITATION} where i.token_hash = $1`
const BY_ID = `${SELECT_INVITATION} where i.id = $1 and i.email = $2`
const MINE = `${SELECT_INVITATION}
  where i.email = $1 and i.status = 'open' and i.expires_at > $2
    and ($3::timestamptz is null or (i.created_at, i.id) < ($3, $4::uuid))
  order by i.created_at desc, i.id desc limit $5`

/** Invitations as those see them who were invited. */
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

  /** What a stranger with the link may know. @throws AppError not_found, invitation_expired, …_revoked, …_used */
  async preview(token: string): Promise<Static<typeof InvitationPreview>> {
    // Ids are no secrets: here nothing but the token counts.
    const row = TOKEN.test(token) ? await find(this.#sql, token, undefined) : undefined
    if (row === undefined) throw NotFound()
    this.#requireOpen(row)
    return invitationPreview(row)
  }

  /** Open invitations to the caller's address, newest first; none while the address is not confirmed. */
  async mine(caller: Caller, page: PageRequest): Promise<PageResult<Static<typeof MyInvitation>>> {
    const email = await confirmedAddress(this.#sql, caller.userId)
    if (email === undefined) return { items: [], limit: page.limit, nextCursor: null }
    const rows = await this.#sql.rows<InvitationRow>(MINE, [
      email,
      new Date(this.#clock.now()),
      page.after?.createdAt ?? null,
      page.after?.id ?? null,
      page.limit + 1,
    ])
    return pageOf(rows, page.limit, (row) => ({ createdAt: row.created_at, id: row.id }), myInvitation)
  }

  /**
   * The workspace of an invitation, whatever its state, so that the turn can say what is wrong with it. A token is a
   * secret that its holder may ask about; an id is not, so it is known to the invited account alone.
   */
  async workspaceOf(tokenOrId: string, userId: string | undefined): Promise<string | undefined> {
    return (await find(this.#sql, tokenOrId, userId))?.workspace_id
  }

  /**
   * Makes the caller a member. Inviting was a promise: whether the inviter may still keep it is looked at now.
   * @param tokenOrId the token of the mail, or the id of `mine`: only the invited address gets in by either
   * @throws AppError not_found (also for the id of an invitation to somebody else), invitation_for_another, email_unverified, invitation_expired, invitation_revoked,
   *   invitation_used, already_member, inviter_may_not_grant, plan_limit_reached
   */
  async accept(turn: Turn, caller: Caller, tokenOrId: string): Promise<MemberData> {
    const row = await this.#find(turn, caller, tokenOrId)
    if ((await findMember(turn.sql, turn.workspaceId, caller.userId)) !== undefined) throw AlreadyMember()
    await requireKept(turn, row)
    const now = new Date(this.#clock.now())
    await this.#seats.requireForMember(turn, now)
    await this.#close(turn, row, 'accepted', now)
    turn.insert('workspace_members', {
      workspace_id: turn.workspaceId,
      user_id: caller.userId,
      role: row.built_in_role,
      role_id: row.role_id,
      added_scopes: row.added_scopes,
      removed_scopes: row.removed_scopes,
      joined_at: now,
      updated_at: now,
    })
    const member = await findMember(turn.sql, turn.workspaceId, caller.userId)
    if (member === undefined) throw NotFound()
    const state = memberState(member)
    turn.audit({
      kind: 'member',
      id: caller.userId,
      details: { email: row.email, role: state.role, scopes: state.scopes, invitedBy: row.invited_by },
    })
    turn.emit(invitationAccepted, invitationFacts(row))
    turn.emit(memberAdded, state)
    this.#members.changes(turn)
    return state
  }

  /** @throws AppError as `accept`, as far as the invitation itself is concerned */
  async decline(turn: Turn, caller: Caller, tokenOrId: string): Promise<void> {
    const row = await this.#find(turn, caller, tokenOrId)
    await this.#close(turn, row, 'declined', new Date(this.#clock.now()))
    turn.emit(invitationDeclined, invitationFacts(row))
  }

  /** The open invitation, in the hands of the one it was meant for. */
  async #find(turn: Turn, caller: Caller, tokenOrId: string): Promise<InvitationRow> {
    const row = await find(turn.sql, tokenOrId, caller.userId)
    if (row === undefined || row.workspace_id !== turn.workspaceId) throw NotFound()
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
    if (status !== 'open') throw InvitationUsed({ message: `The invitation was ${status} already.` })
  }

  async #close(turn: Turn, row: InvitationRow, status: InvitationStatus, now: Date): Promise<void> {
    await turn.sql.run('update invitations set status = $2, updated_at = $3 where id = $1', [row.id, status, now])
    turn.audit({ kind: 'invitation', id: row.id, details: { email: row.email } })
  }
}

/** By its token, whoever asks; by its id for the confirmed account of the invited address alone. */
async function find(sql: Sql, tokenOrId: string, userId: string | undefined): Promise<InvitationRow | undefined> {
  if (isUuid(tokenOrId)) {
    const email = userId === undefined ? undefined : await confirmedAddress(sql, userId)
    return email === undefined ? undefined : sql.row<InvitationRow>(BY_ID, [tokenOrId, email])
  }
  return sql.row<InvitationRow>(BY_TOKEN, [sha256(tokenOrId)])
}

/** The address of a user, if they have confirmed it. */
async function confirmedAddress(sql: Sql, userId: string): Promise<string | undefined> {
  const user = await findUser(sql, userId, { columns: ['email', 'emailVerified'] })
  return user?.emailVerified ? user.email : undefined
}

async function requireKept(turn: Turn, row: InvitationRow): Promise<void> {
  const inviter = row.invited_by === null ? undefined : await rightsOf(turn, row.invited_by)
  const kept =
    inviter !== undefined &&
    inviter.scopes.has('team:manage') &&
    (row.built_in_role !== 'owner' || inviter.isOwner) &&
    lackedBy(inviter, unrestrictedScopes(row)).length === 0
  if (!kept) throw InviterMayNotGrant()
}
