import type { Caller } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { secretToken, sha256, uuidv7 } from '../../../core/id.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { sendMail } from '../../../mail/jobs.ts'
import type { MailLimits } from '../../../mail/limits.ts'
import { findUserByEmail, normalizeEmail } from '../../identity/users/index.ts'
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
  SELECT_INVITATION,
  statusOf,
  type InvitationRow,
} from './invitation-row.ts'
import { invitationMail } from './mail.ts'
import { findMember } from './member-row.ts'
import { ownerHasAll } from './members.ts'
import { overridesFor, type Overrides } from './overrides.ts'
import { refused, roleOf, type ChosenRole } from './role-choice.ts'
import type { InvitationData, InvitationQuery, NewInvitation } from './schemas.ts'
import type { Seats } from './seats.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly invitations: Invitations
  }
}

const LIFETIME_MS = 7 * DAY

const PAGE = `${SELECT_INVITATION}
  where i.workspace_id = $1
    and ($2::timestamptz is null or (i.created_at, i.id) < ($2, $3::uuid))
    and case when i.status = 'open' and i.expires_at <= $4 then 'expired' else i.status end = any($5)
  order by i.created_at desc, i.id desc limit $6`

export interface InvitationsOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly seats: Seats
  readonly mailLimits: MailLimits
  readonly publicUrl: string
}

/** Invitations as those see them who manage a team. */
export class Invitations {
  readonly #options: InvitationsOptions

  constructor(options: InvitationsOptions) {
    this.#options = options
  }

  /** Newest first; open and expired ones unless a status is asked for. */
  async list(workspaceId: string, query: Static<typeof InvitationQuery>): Promise<PageResult<InvitationData>> {
    const { after, limit } = pageRequest(query)
    const now = this.#options.clock.now()
    const rows = await this.#options.sql.rows<InvitationRow>(PAGE, [
      workspaceId,
      after?.createdAt ?? null,
      after?.id ?? null,
      new Date(now),
      query.status === undefined ? ['open', 'expired'] : [query.status],
      limit + 1,
    ])
    const key = (row: InvitationRow) => ({ createdAt: row.created_at, id: row.id })
    return pageOf(rows, limit, key, (row) => invitationView(row, now))
  }

  /**
   * Invites an address: for seven days, for whoever has that address, and for no more than the inviter may do.
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
    const now = new Date(this.#options.clock.now())
    const email = normalizeEmail(input.email)
    await this.#requireNew(turn, email, now)
    await this.#options.seats.requireForInvitation(turn, now)
    await this.#requireMail(turn, caller, email)
    const token = secretToken(32)
    const id = uuidv7(now.getTime())
    turn.insert('invitations', {
      id,
      workspace_id: turn.workspaceId,
      email,
      token_hash: sha256(token),
      role: role.builtIn,
      role_id: role.roleId,
      added_scopes: overrides.added,
      removed_scopes: overrides.removed,
      message: input.message ?? null,
      status: 'open',
      invited_by: caller.userId,
      sent_at: now,
      expires_at: new Date(now.getTime() + LIFETIME_MS),
      created_at: now,
      updated_at: now,
    })
    const row = await this.#find(turn, id)
    this.#send(turn, row, token)
    turn.emit(invitationCreated, invitationFacts(row))
    return this.#audited(turn, row)
  }

  /**
   * Sends an open or expired invitation again, in the name of the caller: with a new link, for seven days from now.
   * The link before stops working.
   * @throws AppError not_found, conflict, cannot_grant, owners_only, already_member, already_invited,
   *   plan_limit_reached, too_many_mails
   */
  async resend(turn: Turn, caller: Caller, id: string): Promise<InvitationData> {
    const actor = await managerOf(turn, caller)
    const before = await this.#find(turn, id)
    const now = new Date(this.#options.clock.now())
    const status = statusOf(before, now.getTime())
    if (status !== 'open' && status !== 'expired') {
      throw Conflict({ message: `The invitation was ${status}; it cannot be sent again.` })
    }
    if (!hasRole(before)) throw Conflict({ message: 'The role of the invitation was deleted; invite anew.' })
    requireOwnerFor(actor, before.built_in_role)
    requireGrantable(actor, unrestrictedScopes(before))
    if (status === 'expired') {
      await this.#requireNew(turn, before.email, now, id)
      await this.#options.seats.requireForInvitation(turn, now)
    }
    await this.#requireMail(turn, caller, before.email)
    const token = secretToken(32)
    await turn.sql.run(
      `update invitations set token_hash = $2, status = 'open', invited_by = $3, sent_at = $4, expires_at = $5,
         updated_at = $4 where id = $1`,
      [id, sha256(token), caller.userId, now, new Date(now.getTime() + LIFETIME_MS)],
    )
    const row = await this.#find(turn, id)
    this.#send(turn, row, token)
    turn.emit(invitationResent, invitationFacts(row))
    return this.#audited(turn, row)
  }

  /**
   * The link stops working at once. Inviters may always revoke what they sent.
   * @throws AppError not_found, owners_only, outranked; conflict when it was answered or revoked before
   */
  async revoke(turn: Turn, caller: Caller, id: string): Promise<void> {
    const actor = await managerOf(turn, caller)
    const row = await this.#find(turn, id)
    if (row.invited_by !== caller.userId) {
      if (row.built_in_role === 'owner') requireOwner(actor, 'Only an owner may revoke the invitation of an owner.')
      requireNotOutranked(actor, unrestrictedScopes(row), 'This invitation')
    }
    if (row.status !== 'open' && row.status !== 'expired') {
      throw Conflict({ message: `The invitation was ${row.status} already.` })
    }
    await turn.sql.run(`update invitations set status = 'revoked', updated_at = $2 where id = $1`, [
      id,
      new Date(this.#options.clock.now()),
    ])
    turn.emit(invitationRevoked, invitationFacts(row))
    this.#audited(turn, row)
  }

  /** The address belongs to no member and has no other open invitation; an expired one makes room for a new one. */
  async #requireNew(turn: Turn, email: string, now: Date, except: string | null = null): Promise<void> {
    const user = await findUserByEmail(turn.sql, email, { columns: ['id'] })
    if (user && (await findMember(turn.sql, turn.workspaceId, user.id))) throw AlreadyMember()
    await turn.sql.run(
      `update invitations set status = 'expired'
       where workspace_id = $1 and email = $2 and status = 'open' and expires_at <= $3`,
      [turn.workspaceId, email, now],
    )
    const open = await turn.sql.row<{ id: string }>(
      `select id from invitations
       where workspace_id = $1 and email = $2 and status = 'open' and id is distinct from $3::uuid`,
      [turn.workspaceId, email, except],
    )
    if (open !== undefined) throw AlreadyInvited({ details: { invitationId: open.id } })
  }

  /** Counts a mail that is about to be sent. @throws AppError too_many_mails */
  async #requireMail(turn: Turn, { userId: accountId }: Caller, to: string): Promise<void> {
    const { workspaceId } = turn
    await this.#options.mailLimits.require(turn.sql, { kind: 'invitation', to, accountId, workspaceId })
  }

  #send(turn: Turn, row: InvitationRow, token: string): void {
    const { publicUrl } = this.#options
    const mail = invitationMail({
      to: row.email,
      workspaceName: row.workspace_name,
      inviter: { name: row.inviter_name ?? '', email: row.inviter_email ?? '' },
      role: invitationFacts(row).role ?? '',
      message: row.message,
      token,
      expiresAt: new Date(row.expires_at),
      publicUrl,
    })
    turn.job(sendMail, { ...mail })
  }

  #audited(turn: Turn, row: InvitationRow): InvitationData {
    const view = invitationView(row, this.#options.clock.now())
    const { email, role, scopes } = view
    turn.audit({ kind: 'invitation', id: row.id, details: { email, role, scopes } })
    return view
  }

  async #find(turn: Turn, id: string): Promise<InvitationRow> {
    const row = await findInvitation(turn.sql, turn.workspaceId, id)
    if (row === undefined) throw NotFound()
    return row
  }
}

function overridesOf(role: ChosenRole, scopes: readonly Scope[] | undefined): Overrides {
  if (scopes === undefined) return { added: [], removed: [] }
  if (role.builtIn === 'owner') throw ownerHasAll()
  return overridesFor(new Set(role.scopes), scopes)
}

function requireOwnerFor(actor: Actor, role: string | null): void {
  if (role === 'owner') requireOwner(actor, 'Only an owner may invite an owner.')
}
