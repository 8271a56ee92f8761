import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import { isScope, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Searches } from '../../../db/searches.ts'
import { streamsWithLiveKeys } from '../../live/streams/index.ts'
import type { ChannelMembers } from '../../talk/chat/index.ts'
import { mergedScopes, type MemberCache } from '../workspaces/memberships.ts'
import {
  managerOf,
  requireGrantable,
  requireNotOutranked,
  requireOwner,
  unrestrictedScopes,
  type Actor,
} from './authority.ts'
import { memberRemoved, memberUpdated } from './events.ts'
import { findMember, memberState, SELECT_MEMBER, type TeamMemberRow } from './member-row.ts'
import { overridesFor } from './overrides.ts'
import type { Ownership } from './owners.ts'
import { nobodyOnline, type Presence } from './presence.ts'
import { isBuiltIn, roleOf, type ChosenRole } from './role-choice.ts'
import type { MemberChange, MemberData, MemberQuery, MemberView } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly members: TeamMembers
  }
}

const PAGE = `${SELECT_MEMBER}
  where m.workspace_id = $1
    and ($2::timestamptz is null or (m.joined_at, m.user_id) < ($2, $3::uuid))
    and ($4::text is null or u.name ilike $4 or u.email ilike $4)
    and ($5::text is null or m.role = $5)
    and ($6::uuid is null or m.role_id = $6)
  order by m.joined_at desc, m.user_id desc limit $7`

interface TeamMembersNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly cache: MemberCache
  readonly ownership: Ownership
  readonly channels: ChannelMembers
  readonly searches: Searches
}

/** The members of workspaces: who they are, what they may do, and how they go. */
export class TeamMembers {
  readonly #sql: Sql
  readonly #searches: Searches
  readonly #clock: Clock
  readonly #cache: MemberCache
  readonly #ownership: Ownership
  readonly #channels: ChannelMembers
  #presence: Presence = nobodyOnline

  constructor({ cache, channels, clock, ownership, searches, sql }: TeamMembersNeeds) {
    this.#sql = sql
    this.#searches = searches
    this.#clock = clock
    this.#cache = cache
    this.#ownership = ownership
    this.#channels = channels
  }

  /** Takes whoever keeps the sockets as the source of presence. */
  attachPresence(presence: Presence): void {
    this.#presence = presence
  }

  /** Newest first, with who is online. @throws AppError; with `q` also search_too_broad, overloaded */
  async list(workspaceId: string, query: Static<typeof MemberQuery>): Promise<PageResult<Static<typeof MemberView>>> {
    const { after, limit } = pageRequest(query)
    const { q, roleId } = query
    const builtIn = roleId !== undefined && isBuiltIn(roleId)
    const values = [
      workspaceId,
      after?.createdAt ?? null,
      after?.id ?? null,
      q === undefined ? null : `%${q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`,
      builtIn ? roleId : null,
      builtIn ? null : (roleId ?? null),
      limit + 1,
    ]
    const read = (sql: Sql) => sql.rows<TeamMemberRow>(PAGE, values)
    const rows = await (q === undefined ? read(this.#sql) : this.#searches.run(workspaceId, read))
    const page = pageOf(rows, limit, (row) => ({ createdAt: row.joined_at, id: row.user_id }), memberState)
    const presences = await this.#presence.of(page.items.map((member) => member._id))
    const items = page.items.map((member) => {
      const { lastSeenAt = null, state = 'offline' } = presences.get(member._id) ?? {}
      return { ...member, presence: state, lastSeenAt }
    })
    return { ...page, items }
  }

  /**
   * Gives a member another role or other overrides. Overrides stay when only the role changes; an owner has none.
   * @throws AppError not_found, precondition_failed, outranked, cannot_grant, owners_only, last_owner,
   *   plan_limit_reached, validation_failed
   */
  async update(
    turn: Turn,
    caller: Caller,
    userId: string,
    change: Static<typeof MemberChange>,
    ifMatch: IfMatch,
  ): Promise<MemberData> {
    const actor = await managerOf(turn, caller)
    const before = await this.#find(turn, userId, ifMatch)
    requireMayChange(actor, before, 'Only an owner may change an owner.')
    const role = (await roleOf(turn, change)) ?? presentRole(before)
    const after = withRole(before, role, change.scopes)
    if (role.builtIn === 'owner') requireOwner(actor, 'Only an owner may make somebody an owner.')
    const held = mergedScopes(before)
    requireGrantable(
      actor,
      [...mergedScopes(after), ...role.scopes].filter((scope) => !held.has(scope)),
    )
    if (before.built_in_role === 'owner' && role.builtIn !== 'owner') await this.#release(turn, userId, actor)
    await turn.sql.run(
      `update workspace_members set role = $3, role_id = $4, added_scopes = $5, removed_scopes = $6,
         version = version + 1, updated_at = $7
       where workspace_id = $1 and user_id = $2`,
      [
        turn.workspaceId,
        userId,
        role.builtIn,
        role.roleId,
        after.added_scopes,
        after.removed_scopes,
        new Date(this.#clock.now()),
      ],
    )
    const state = memberState(await this.#find(turn, userId, undefined))
    const { granted, revoked } = state.overrides
    const from = memberState(before)
    turn.audit({
      kind: 'member',
      id: userId,
      details: {
        role: { from: from.role, to: state.role },
        overrides: { from: from.overrides, to: { granted, revoked } },
      },
    })
    turn.emit(memberUpdated, state)
    this.#cache.changes(turn)
    return state
  }

  /**
   * @returns the streams whose ingest keys the member could see
   * @throws AppError not_found, precondition_failed, outranked, owners_only, last_owner, plan_limit_reached
   */
  async remove(turn: Turn, caller: Caller, userId: string, ifMatch: IfMatch): Promise<{ streamIds: string[] }> {
    const actor = await managerOf(turn, caller)
    const member = await this.#find(turn, userId, ifMatch)
    requireMayChange(actor, member, 'Only an owner may remove an owner.')
    if (member.built_in_role === 'owner') await this.#release(turn, userId, actor)
    return this.#delete(turn, caller, member)
  }

  /** @throws AppError not_found, last_owner, plan_limit_reached */
  async leave(turn: Turn, caller: Caller): Promise<void> {
    const member = await this.#find(turn, caller.userId, undefined)
    if (member.built_in_role === 'owner') await this.#release(turn, caller.userId, caller)
    await this.#delete(turn, caller, member)
  }

  #release(turn: Turn, userId: string, actor: Pick<Actor, 'userId'>): Promise<void> {
    return this.#ownership.release(turn, userId, actor.userId, new Date(this.#clock.now()))
  }

  /** Keys belong to streams and stay: an encoder in use would be cut off. Who manages them is told which were known. */
  async #delete(turn: Turn, caller: Caller, member: TeamMemberRow): Promise<{ streamIds: string[] }> {
    const userId = member.user_id
    const streamIds = mergedScopes(member).has('streams:manage')
      ? await streamsWithLiveKeys(turn.sql, turn.workspaceId, new Date(this.#clock.now()))
      : []
    await this.#channels.leaveAll(turn, caller.userId, userId)
    await turn.sql.run(
      `update groups set version = version + 1, updated_at = $3
       where id in (select group_id from group_members where workspace_id = $1 and user_id = $2)`,
      [turn.workspaceId, userId, new Date(this.#clock.now())],
    )
    await turn.sql.run('delete from workspace_members where workspace_id = $1 and user_id = $2', [
      turn.workspaceId,
      userId,
    ])
    turn.audit({ kind: 'member', id: userId, details: { email: member.email, role: memberState(member).role } })
    turn.emit(memberRemoved, { userId, reason: userId === caller.userId ? 'left' : 'removed', streamIds })
    this.#cache.changes(turn)
    return { streamIds }
  }

  async #find(turn: Turn, userId: string, ifMatch: IfMatch): Promise<TeamMemberRow> {
    const row = await findMember(turn.sql, turn.workspaceId, userId)
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    return row
  }
}

/** Members may change themselves, and others who have no more rights. @throws AppError owners_only, outranked */
function requireMayChange(actor: Actor, member: TeamMemberRow, ownersOnly: string): void {
  if (member.built_in_role === 'owner') requireOwner(actor, ownersOnly)
  if (member.user_id !== actor.userId) requireNotOutranked(actor, unrestrictedScopes(member), 'This member')
}

function presentRole(row: TeamMemberRow): ChosenRole {
  const { built_in_role: builtIn, role_id: roleId, role_name: name, role_scopes: scopes } = row
  return { builtIn, roleId, name: builtIn ?? name ?? '', scopes: (scopes ?? []).filter(isScope) }
}

/** The row as it would be. @param scopes what the member is to have exactly; null drops the overrides */
function withRole(row: TeamMemberRow, role: ChosenRole, scopes: readonly Scope[] | null | undefined): TeamMemberRow {
  const plain: TeamMemberRow = {
    ...row,
    built_in_role: role.builtIn,
    role_id: role.roleId,
    role_name: role.roleId === null ? null : role.name,
    role_scopes: role.roleId === null ? null : [...role.scopes],
    added_scopes: [],
    removed_scopes: [],
  }
  if (role.builtIn === 'owner') {
    if (scopes) throw ownerHasAll()
    return plain
  }
  if (scopes === null) return plain
  if (scopes === undefined) return { ...plain, added_scopes: row.added_scopes, removed_scopes: row.removed_scopes }
  const { added, removed } = overridesFor(mergedScopes(plain), scopes)
  return { ...plain, added_scopes: [...added], removed_scopes: [...removed] }
}

/** The 400 of scopes for an owner. */
export function ownerHasAll() {
  const message = 'must be left out for an owner, who has every scope'
  return ValidationFailed({
    message: `scopes ${message}.`,
    errors: [{ path: '/body/scopes', code: 'owner', message }],
  })
}
