import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import { isScope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/index.ts'
import {
  addGroup,
  addGroupMembers,
  changeGroup,
  countGroups,
  deleteGroup,
  findGroup,
  groupPage,
  isGroupName,
  removeGroupMembers,
  requireMembers,
  scopesOfOtherGroups,
  type GroupRow,
  type MemberCache,
} from '../workspaces/index.ts'
import { managerOf, requireGrantable, requireReachable, type Actor } from './authority.ts'
import { NameTaken } from './errors.ts'
import { groupCreated, groupDeleted, groupUpdated } from './events.ts'
import { findMembers } from './member-row.ts'
import type { GroupChange, GroupData, NewGroup } from './schemas.ts'
import { afterChange, auditedChange, requireMayChange } from './scope-sets.ts'

/** Groups: members who share additional scopes. */
export class TeamGroups {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #cache: MemberCache
  readonly #plans: PlanService

  constructor(sql: Sql, clock: Clock, cache: MemberCache, plans: PlanService) {
    this.#sql = sql
    this.#clock = clock
    this.#cache = cache
    this.#plans = plans
  }

  /** Newest first. */
  async list(workspaceId: string, page: PageRequest): Promise<PageResult<GroupData>> {
    return pageOf(await groupPage(this.#sql, workspaceId, page), page.limit, (row) => row, view)
  }

  /** @throws AppError not_found */
  async get(workspaceId: string, id: string): Promise<GroupData> {
    return view(await find(this.#sql, workspaceId, id))
  }

  /** @throws AppError cannot_grant, outranked, name_taken, plan_limit_reached, validation_failed */
  async create(turn: Turn, caller: Caller, input: Static<typeof NewGroup>): Promise<GroupData> {
    const actor = await managerOf(turn, caller)
    const scopes = [...(input.scopes ?? [])].sort()
    requireGrantable(actor, scopes)
    await requireFree(turn, input.name)
    await this.#plans.requireRoom(turn.workspaceId, 'groups', await countGroups(turn.sql, turn.workspaceId))
    await requireMembers(turn, 'memberIds', input.memberIds)
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    await requireMembersReachable(turn, actor, { id, memberIds: input.memberIds, scopesOf: () => scopes })
    addGroup(turn, { id, name: input.name, scopes, createdAt: now, updatedAt: now })
    addGroupMembers(turn, id, input.memberIds)
    const group = view(await find(turn.sql, turn.workspaceId, id))
    turn.audit({ kind: 'group', id, details: { name: group.name, scopes, memberIds: group.memberIds } })
    turn.emit(groupCreated, group)
    this.#cache.changes(turn)
    return group
  }

  /**
   * Changes name, scopes or members; `memberIds` replaces the whole list. The caller must have all scopes that the group
   * has and gets, and all scopes of the members whose scopes change.
   * @throws AppError not_found, precondition_failed, outranked, cannot_grant, name_taken, validation_failed
   */
  async update(
    turn: Turn,
    caller: Caller,
    id: string,
    change: Static<typeof GroupChange>,
    ifMatch: IfMatch,
  ): Promise<GroupData> {
    const actor = await managerOf(turn, caller)
    const before = await find(turn.sql, turn.workspaceId, id)
    requireVersion(ifMatch, before.version)
    const memberIds = change.memberIds ?? before.memberIds
    const joining = memberIds.filter((userId) => !before.memberIds.includes(userId))
    const leaving = before.memberIds.filter((userId) => !memberIds.includes(userId))
    const next = afterChange(actor, 'group', before, change)
    if (change.name !== undefined) await requireFree(turn, change.name, id)
    await requireMembers(turn, 'memberIds', joining, memberIds)
    const reached = change.scopes === undefined ? [...joining, ...leaving] : [...memberIds, ...leaving]
    const scopesOf = (userId: string) => (leaving.includes(userId) ? [] : next.scopes)
    await requireMembersReachable(turn, actor, { id, memberIds: reached, scopesOf })
    await changeGroup(turn.sql, id, next, new Date(this.#clock.now()))
    if (leaving.length > 0) await removeGroupMembers(turn.sql, id, leaving)
    addGroupMembers(turn, id, joining)
    const group = view(await find(turn.sql, turn.workspaceId, id))
    turn.audit({ kind: 'group', id, details: { ...auditedChange(before, group), joined: joining, left: leaving } })
    turn.emit(groupUpdated, group)
    this.#cache.changes(turn)
    return group
  }

  /** @throws AppError not_found, precondition_failed, outranked */
  async delete(turn: Turn, caller: Caller, id: string, ifMatch: IfMatch): Promise<void> {
    const actor = await managerOf(turn, caller)
    const group = await find(turn.sql, turn.workspaceId, id)
    requireVersion(ifMatch, group.version)
    requireMayChange(actor, 'group', group)
    await requireMembersReachable(turn, actor, { id, memberIds: group.memberIds, scopesOf: () => [] })
    await deleteGroup(turn.sql, id)
    turn.audit({
      kind: 'group',
      id,
      details: { name: group.name, scopes: group.scopes, memberIds: group.memberIds },
    })
    turn.emit(groupDeleted, { groupId: id })
    this.#cache.changes(turn)
  }
}

async function find(sql: Sql, workspaceId: string, id: string): Promise<GroupRow> {
  const row = await findGroup(sql, workspaceId, id)
  if (row === undefined) throw NotFound()
  return row
}

/** How a change of a group affects its members. */
interface MembersChange {
  readonly id: string
  /** The members whose scopes may change. */
  readonly memberIds: readonly string[]
  /** The scopes that a member gets from the group after the change. */
  readonly scopesOf: (userId: string) => readonly string[]
}

/** @throws AppError outranked when the change affects a member who has scopes that the actor lacks */
async function requireMembersReachable(turn: Turn, actor: Actor, change: MembersChange): Promise<void> {
  const { id, memberIds, scopesOf } = change
  if (memberIds.length === 0) return
  const members = await findMembers(turn.sql, { workspaceId: turn.workspaceId, userIds: memberIds })
  const fromOthers = await scopesOfOtherGroups(turn.sql, turn.workspaceId, id, memberIds)
  requireReachable(actor, members, (member) => ({
    ...member,
    groupScopes: [...(fromOthers.get(member.userId) ?? []), ...scopesOf(member.userId)],
  }))
}

async function requireFree(turn: Turn, name: string, except?: string): Promise<void> {
  if (await isGroupName(turn.sql, turn.workspaceId, name, except)) {
    throw NameTaken({ message: `There is already a group called “${name}”.` })
  }
}

function view(row: GroupRow): GroupData {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    name: row.name,
    scopes: row.scopes.filter(isScope),
    memberIds: [...row.memberIds],
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
