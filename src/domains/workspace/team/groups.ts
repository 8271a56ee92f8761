import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import { isScope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'
import { isNameTaken, requireRoom } from '../workspaces/collections.ts'
import type { MemberCache } from '../workspaces/memberships.ts'
import { requireMembers } from '../workspaces/named-members.ts'
import { managerOf, requireGrantable, requireNotOutranked, requireReachable, type Actor } from './authority.ts'
import { NameTaken } from './errors.ts'
import { groupCreated, groupDeleted, groupUpdated } from './events.ts'
import { findMembers } from './member-row.ts'
import type { GroupChange, GroupData, NewGroup } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly groups: TeamGroups
  }
}

interface GroupRow {
  id: string
  workspace_id: string
  name: string
  scopes: string[]
  member_ids: string[]
  version: number
  created_at: string
  updated_at: string
}

const SELECT = `
  select g.id, g.workspace_id, g.name, g.scopes, g.version, g.created_at, g.updated_at,
    array(select gm.user_id::text from group_members gm where gm.group_id = g.id order by gm.user_id) as member_ids
  from groups g where g.workspace_id = $1`
const ONE = `${SELECT} and g.id = $2`
const SCOPES_OF_OTHERS = `
  select gm.user_id, array_agg(distinct s.scope) as scopes
  from group_members gm join groups g on g.id = gm.group_id cross join unnest(g.scopes) as s(scope)
  where gm.workspace_id = $1 and gm.user_id = any($2) and gm.group_id <> $3
  group by gm.user_id`
const PAGE = `${SELECT} and ($2::timestamptz is null or (g.created_at, g.id) < ($2, $3::uuid))
  order by g.created_at desc, g.id desc limit $4`

/** Groups: members who share further scopes. */
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
    const { after, limit } = page
    const rows = await this.#sql.rows<GroupRow>(PAGE, [
      workspaceId,
      after?.createdAt ?? null,
      after?.id ?? null,
      limit + 1,
    ])
    return pageOf(rows, limit, (row) => ({ createdAt: row.created_at, id: row.id }), view)
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
    await requireRoom(turn, this.#plans, 'groups')
    await requireMembers(turn, 'memberIds', input.memberIds)
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    await requireMembersReachable(turn, actor, { id, memberIds: input.memberIds, scopesOf: () => scopes })
    const times = { created_at: now, updated_at: now }
    turn.insert('groups', { id, workspace_id: turn.workspaceId, name: input.name, scopes, version: 1, ...times })
    addMembers(turn, id, input.memberIds)
    const group = view(await find(turn.sql, turn.workspaceId, id))
    turn.audit({ kind: 'group', id, details: { name: group.name, scopes, memberIds: group.memberIds } })
    turn.emit(groupCreated, group)
    this.#cache.changes(turn)
    return group
  }

  /**
   * Changes name, scopes or members; `memberIds` replaces the whole list. The caller must hold all scopes that the group
   * has and gets, and more than anyone whose rights change.
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
    const scopes = [...(change.scopes ?? before.scopes.filter(isScope))].sort()
    const memberIds = change.memberIds ?? before.member_ids
    const joining = memberIds.filter((userId) => !before.member_ids.includes(userId))
    const leaving = before.member_ids.filter((userId) => !memberIds.includes(userId))
    requireMayChange(actor, before)
    requireGrantable(actor, scopes)
    if (change.name !== undefined) await requireFree(turn, change.name, id)
    await requireMembers(turn, 'memberIds', joining, memberIds)
    const reached = change.scopes === undefined ? [...joining, ...leaving] : [...memberIds, ...leaving]
    const scopesOf = (userId: string) => (leaving.includes(userId) ? [] : scopes)
    await requireMembersReachable(turn, actor, { id, memberIds: reached, scopesOf })
    await turn.sql.run(
      'update groups set name = $2, scopes = $3, version = version + 1, updated_at = $4 where id = $1',
      [id, change.name ?? before.name, scopes, new Date(this.#clock.now())],
    )
    await turn.sql.run('delete from group_members where group_id = $1 and user_id = any($2)', [id, leaving])
    addMembers(turn, id, joining)
    const group = view(await find(turn.sql, turn.workspaceId, id))
    turn.audit({
      kind: 'group',
      id,
      details: {
        name: { from: before.name, to: group.name },
        scopes: { from: before.scopes, to: group.scopes },
        joined: joining,
        left: leaving,
      },
    })
    turn.emit(groupUpdated, group)
    this.#cache.changes(turn)
    return group
  }

  /** @throws AppError not_found, precondition_failed, outranked */
  async delete(turn: Turn, caller: Caller, id: string, ifMatch: IfMatch): Promise<void> {
    const actor = await managerOf(turn, caller)
    const group = await find(turn.sql, turn.workspaceId, id)
    requireVersion(ifMatch, group.version)
    requireMayChange(actor, group)
    await requireMembersReachable(turn, actor, { id, memberIds: group.member_ids, scopesOf: () => [] })
    await turn.sql.run('delete from groups where id = $1', [id])
    turn.audit({
      kind: 'group',
      id,
      details: { name: group.name, scopes: group.scopes, memberIds: group.member_ids },
    })
    turn.emit(groupDeleted, { groupId: id })
    this.#cache.changes(turn)
  }
}

async function find(sql: Sql, workspaceId: string, id: string): Promise<GroupRow> {
  const row = await sql.row<GroupRow>(ONE, [workspaceId, id])
  if (row === undefined) throw NotFound()
  return row
}

function requireMayChange(actor: Actor, group: GroupRow): void {
  requireNotOutranked(actor, group.scopes.filter(isScope), `The group “${group.name}”`)
}

/** A change of a group, as far as it concerns its members. */
interface MembersChange {
  readonly id: string
  /** Those whom the change may give or take something. */
  readonly memberIds: readonly string[]
  /** What the group gives a member after the change. */
  readonly scopesOf: (userId: string) => readonly string[]
}

/** @throws AppError outranked when the change reaches a member who has more rights than the actor */
async function requireMembersReachable(turn: Turn, actor: Actor, change: MembersChange): Promise<void> {
  const { id, memberIds, scopesOf } = change
  if (memberIds.length === 0) return
  const members = await findMembers(turn.sql, turn.workspaceId, memberIds)
  const rows = await turn.sql.rows<{ user_id: string; scopes: string[] }>(SCOPES_OF_OTHERS, [
    turn.workspaceId,
    memberIds,
    id,
  ])
  const fromOthers = new Map(rows.map((row) => [row.user_id, row.scopes]))
  requireReachable(actor, members, (member) => ({
    ...member,
    group_scopes: [...(fromOthers.get(member.user_id) ?? []), ...scopesOf(member.user_id)],
  }))
}

async function requireFree(turn: Turn, name: string, except: string | null = null): Promise<void> {
  if (await isNameTaken(turn, 'groups', name, except)) {
    throw NameTaken({ message: `There is a group called “${name}” already.` })
  }
}

function addMembers(turn: Turn, groupId: string, userIds: readonly string[]): void {
  for (const userId of userIds) {
    turn.insert('group_members', { group_id: groupId, workspace_id: turn.workspaceId, user_id: userId })
  }
}

function view(row: GroupRow): GroupData {
  return {
    _id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    scopes: row.scopes.filter(isScope),
    memberIds: row.member_ids,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
