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
import type { Foundation } from '../../../foundation.ts'
import { searchUsers } from '../../identity/users/index.ts'
import { streamsWithLiveKeys } from '../../live/streams/index.ts'
import type { ChannelMembers } from '../../talk/chat/index.ts'
import {
  changeGrant,
  membershipPage,
  memberIds,
  mergedScopes,
  removeMember,
  type Grant,
  type MemberCache,
  type ScopeSources,
} from '../workspaces/index.ts'
import {
  managerOf,
  requireGrantable,
  requireNotOutranked,
  requireOwner,
  unrestrictedScopes,
  type Actor,
} from './authority.ts'
import { memberRemoved, memberUpdated } from './events.ts'
import { findMember, memberState, withProfiles, type TeamMember } from './member-row.ts'
import { overridesFor } from './overrides.ts'
import type { Ownership } from './owners.ts'
import { nobodyOnline, type Presence } from './presence.ts'
import { isBuiltIn, roleOf, type ChosenRole } from './role-choice.ts'
import type { MemberChange, MemberData, MemberQuery, MemberView } from './schemas.ts'

/** The members of workspaces: listing, changing and removing them. */
export class TeamMembers {
  readonly #sql: Sql
  readonly #searches: Searches
  readonly #clock: Clock
  readonly #cache: MemberCache
  readonly #ownership: Ownership
  readonly #channels: ChannelMembers
  #presence: Presence = nobodyOnline

  constructor(
    { clock, database, searches }: Pick<Foundation, 'clock' | 'database' | 'searches'>,
    cache: MemberCache,
    ownership: Ownership,
    channels: ChannelMembers,
  ) {
    this.#sql = database
    this.#searches = searches
    this.#clock = clock
    this.#cache = cache
    this.#ownership = ownership
    this.#channels = channels
  }

  /** Sets the source of presence, which is the socket gateway. */
  attachPresence(presence: Presence): void {
    this.#presence = presence
  }

  /** Newest first, with presence. @throws AppError; with `q` also search_too_broad, overloaded */
  async list(workspaceId: string, query: Static<typeof MemberQuery>): Promise<PageResult<Static<typeof MemberView>>> {
    const request = pageRequest(query)
    const { q, roleId } = query
    const { builtIn: role, custom } = Object.groupBy(roleId ?? [], (id) => (isBuiltIn(id) ? 'builtIn' : 'custom'))
    const withRole = { role: role?.filter(isBuiltIn), roleId: custom }
    const read = async (sql: Sql) => {
      const userIds = q === undefined ? undefined : await searchUsers(sql, await memberIds(sql, workspaceId), q)
      return withProfiles(sql, await membershipPage(sql, { workspaceId, userIds, ...withRole }, request))
    }
    const rows = await (q === undefined ? read(this.#sql) : this.#searches.run(workspaceId, read))
    const page = pageOf(rows, request.limit, (row) => ({ createdAt: row.joinedAt, id: row.userId }), memberState)
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
    requireMayChange(actor, before, 'Only an owner can change an owner.')
    const role = (await roleOf(turn, change)) ?? currentRole(before)
    const after = withRole(before, role, change.scopes)
    if (role.builtIn === 'owner') requireOwner(actor, 'Only an owner can make another member an owner.')
    const held = mergedScopes(before)
    requireGrantable(
      actor,
      [...mergedScopes(after), ...role.scopes].filter((scope) => !held.has(scope)),
    )
    if (before.role === 'owner' && role.builtIn !== 'owner') await this.#release(turn, userId, actor)
    await changeGrant(turn, userId, after, new Date(this.#clock.now()))
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
    requireMayChange(actor, member, 'Only an owner can remove an owner.')
    if (member.role === 'owner') await this.#release(turn, userId, actor)
    return this.#delete(turn, caller, member)
  }

  /** @throws AppError not_found, last_owner, plan_limit_reached */
  async leave(turn: Turn, caller: Caller): Promise<void> {
    const member = await this.#find(turn, caller.userId, undefined)
    if (member.role === 'owner') await this.#release(turn, caller.userId, caller)
    await this.#delete(turn, caller, member)
  }

  /**
   * Removes a member whose account is deleted, if they are one.
   * @returns false, with nothing changed, if the workspace has no other owner
   */
  async depart(turn: Turn, userId: string): Promise<boolean> {
    const member = await findMember(turn.sql, turn.workspaceId, userId)
    if (member === undefined) return true
    const now = new Date(this.#clock.now())
    if (member.role === 'owner' && !(await this.#ownership.passOn(turn, userId, now))) return false
    await this.#delete(turn, { userId }, member)
    return true
  }

  #release(turn: Turn, userId: string, actor: Pick<Actor, 'userId'>): Promise<void> {
    return this.#ownership.release(turn, userId, actor.userId, new Date(this.#clock.now()))
  }

  /**
   * Ingest keys stay valid, so that no encoder is cut off. The result and the event name the streams whose keys the member
   * could see.
   */
  async #delete(turn: Turn, caller: Pick<Caller, 'userId'>, member: TeamMember): Promise<{ streamIds: string[] }> {
    const userId = member.userId
    const streamIds = mergedScopes(member).has('streams:manage')
      ? await streamsWithLiveKeys(turn.sql, turn.workspaceId, new Date(this.#clock.now()))
      : []
    await this.#channels.leaveAll(turn, caller.userId, userId)
    await removeMember(turn, userId, new Date(this.#clock.now()))
    turn.audit({ kind: 'member', id: userId, details: { email: member.email, role: memberState(member).role } })
    turn.emit(memberRemoved, { userId, reason: userId === caller.userId ? 'left' : 'removed', streamIds })
    this.#cache.changes(turn)
    return { streamIds }
  }

  async #find(turn: Turn, userId: string, ifMatch: IfMatch): Promise<TeamMember> {
    const row = await findMember(turn.sql, turn.workspaceId, userId)
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    return row
  }
}

/** Members may change themselves, and others who have no more rights. @throws AppError owners_only, outranked */
function requireMayChange(actor: Actor, member: TeamMember, ownersOnly: string): void {
  if (member.role === 'owner') requireOwner(actor, ownersOnly)
  if (member.userId !== actor.userId) requireNotOutranked(actor, unrestrictedScopes(member), 'This member')
}

function currentRole({ role: builtIn, roleId, roleName: name, roleScopes: scopes }: TeamMember): ChosenRole {
  return { builtIn, roleId, name: builtIn ?? name ?? '', scopes: (scopes ?? []).filter(isScope) }
}

/**
 * The role and overrides of a member after a change, with the scopes that they are based on.
 * @param scopes exactly the scopes that the member gets; null removes the overrides, undefined keeps them
 */
function withRole(
  member: TeamMember,
  role: ChosenRole,
  scopes: readonly Scope[] | null | undefined,
): ScopeSources & Grant {
  const plain = {
    role: role.builtIn,
    roleId: role.roleId,
    roleName: role.roleId === null ? null : role.name,
    roleScopes: role.roleId === null ? null : role.scopes,
    groupScopes: member.groupScopes,
    addedScopes: [],
    removedScopes: [],
  }
  if (role.builtIn === 'owner') {
    if (scopes) throw ownerHasAll()
    return plain
  }
  if (scopes === null) return plain
  if (scopes === undefined) {
    const { addedScopes, removedScopes } = member
    return { ...plain, addedScopes, removedScopes }
  }
  const { added, removed } = overridesFor(mergedScopes(plain), scopes)
  return { ...plain, addedScopes: added, removedScopes: removed }
}

/** The validation error when scopes are sent for an owner. */
export function ownerHasAll() {
  const message = 'must be omitted for an owner, who has every scope'
  return ValidationFailed({ errors: [{ path: '/body/scopes', code: 'owner', message }] })
}
