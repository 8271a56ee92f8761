import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import { BUILT_IN_ROLES, isScope, type BuiltInRole, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'
import { isNameTaken, requireRoom } from '../workspaces/collections.ts'
import type { MemberCache } from '../workspaces/memberships.ts'
import {
  managerOf,
  requireGrantable,
  requireNotOutranked,
  requireOwner,
  requireReachable,
  type Actor,
} from './authority.ts'
import { BuiltInRoleFixed, NameTaken, RoleInUse } from './errors.ts'
import { memberUpdated, roleCreated, roleDeleted, roleUpdated } from './events.ts'
import { findHolders, findMembers, memberState } from './member-row.ts'
import { isBuiltIn, refused, roleById, type ChosenRole } from './role-choice.ts'
import type { NewRole, RoleChange, RoleData } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly roles: TeamRoles
  }
}

interface RoleRow {
  id: string
  name: string
  scopes: string[]
  version: number
  created_at: string
  updated_at: string
  member_count: number
}

const SELECT = `
  select r.id, r.name, r.scopes, r.version, r.created_at, r.updated_at,
    (select count(*) from workspace_members m where m.role_id = r.id) as member_count
  from roles r where r.workspace_id = $1`
const ALL = `${SELECT} order by r.created_at, r.id`
const ONE = `${SELECT} and r.id = $2`

/** Roles: sets of scopes with a name, five of them the same everywhere. */
export class TeamRoles {
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

  /** The built-in roles, then the workspace's own, oldest first. */
  async list(workspaceId: string): Promise<PageResult<RoleData>> {
    const [builtIn, own] = await Promise.all([this.#builtIn(workspaceId), this.#sql.rows<RoleRow>(ALL, [workspaceId])])
    return { items: [...builtIn, ...own.map(view)], limit: 100, nextCursor: null }
  }

  /** @throws AppError cannot_grant, name_taken, plan_limit_reached */
  async create(turn: Turn, caller: Caller, input: Static<typeof NewRole>): Promise<RoleData> {
    const actor = await managerOf(turn, caller)
    requireGrantable(actor, input.scopes)
    await this.#requireFree(turn, input.name)
    await requireRoom(turn, this.#plans, 'roles')
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    turn.insert('roles', {
      id,
      workspace_id: turn.workspaceId,
      name: input.name,
      scopes: [...input.scopes].sort(),
      version: 1,
      created_at: now,
      updated_at: now,
    })
    const role = view(await this.#find(turn, id))
    turn.audit({ kind: 'role', id, details: { name: role.name, scopes: role.scopes } })
    turn.emit(roleCreated, role)
    return role
  }

  /**
   * Changes what everyone with the role may do, at once.
   * @throws AppError not_found, built_in_role, precondition_failed, outranked, cannot_grant, name_taken
   */
  async update(
    turn: Turn,
    caller: Caller,
    id: string,
    change: Static<typeof RoleChange>,
    ifMatch: IfMatch,
  ): Promise<RoleData> {
    const actor = await managerOf(turn, caller)
    const before = await this.#own(turn, id, ifMatch)
    const scopes = change.scopes ?? before.scopes.filter(isScope)
    requireMayChange(actor, before)
    requireGrantable(actor, scopes)
    await this.#requireHoldersReachable(turn, actor, before, { builtIn: null, scopes })
    if (change.name !== undefined) await this.#requireFree(turn, change.name, id)
    await turn.sql.run(
      'update roles set name = $2, scopes = $3, version = version + 1, updated_at = $4 where id = $1',
      [id, change.name ?? before.name, [...scopes].sort(), new Date(this.#clock.now())],
    )
    const role = view(await this.#find(turn, id))
    turn.audit({
      kind: 'role',
      id,
      details: { name: { from: before.name, to: role.name }, scopes: { from: before.scopes, to: role.scopes } },
    })
    turn.emit(roleUpdated, role)
    this.#cache.changes(turn)
    return role
  }

  /**
   * @param replaceWith the role that members and open invitations get in its place
   * @throws AppError not_found, built_in_role, precondition_failed, role_in_use, outranked, cannot_grant,
   *   owners_only, validation_failed
   */
  async delete(
    turn: Turn,
    caller: Caller,
    id: string,
    replaceWith: string | undefined,
    ifMatch: IfMatch,
  ): Promise<void> {
    const actor = await managerOf(turn, caller)
    const role = await this.#own(turn, id, ifMatch)
    requireMayChange(actor, role)
    const replacement = await this.#replacement(turn, id, replaceWith)
    if (replacement !== undefined) {
      if (replacement.builtIn === 'owner') requireOwner(actor, 'Only an owner may make somebody an owner.')
      requireGrantable(actor, replacement.scopes)
      await this.#requireHoldersReachable(turn, actor, role, replacement)
    }
    const now = new Date(this.#clock.now())
    await this.#requireUnused(turn, role, replacement, now)
    if (replacement !== undefined) await this.#moveHolders(turn, id, replacement, now)
    // Closed invitations forget the role.
    await turn.sql.run(`update invitations set status = 'expired' where role_id = $1 and status = 'open'`, [id])
    await turn.sql.run('delete from roles where id = $1', [id])
    const replacementRoleId = replacement === undefined ? null : (replacement.roleId ?? replacement.name)
    turn.audit({ kind: 'role', id, details: { name: role.name, scopes: role.scopes, replacementRoleId } })
    turn.emit(roleDeleted, { roleId: id, replacementRoleId })
    this.#cache.changes(turn)
  }

  async #replacement(turn: Turn, id: string, replaceWith: string | undefined): Promise<ChosenRole | undefined> {
    if (replaceWith === undefined) return undefined
    if (replaceWith === id) throw refused('/query/replaceWith', 'must be another role')
    const role = await roleById(turn.sql, turn.workspaceId, replaceWith)
    if (role === undefined) throw refused('/query/replaceWith', 'is no role of this workspace')
    return role
  }

  /** @throws AppError outranked when the change reaches a holder who has more rights than the actor */
  async #requireHoldersReachable(
    turn: Turn,
    actor: Actor,
    role: RoleRow,
    next: Pick<ChosenRole, 'builtIn' | 'scopes'>,
  ): Promise<void> {
    if (role.member_count === 0) return
    const holders = await findHolders(turn.sql, turn.workspaceId, role.id)
    const { builtIn, scopes } = next
    requireReachable(actor, holders, (row) => ({ ...row, built_in_role: builtIn, role_scopes: [...scopes] }))
  }

  async #requireUnused(turn: Turn, role: RoleRow, replacement: ChosenRole | undefined, now: Date): Promise<void> {
    if (replacement !== undefined) return
    const invited = await turn.sql.row<{ count: number }>(
      `select count(*) as count from invitations where role_id = $1 and status = 'open' and expires_at > $2`,
      [role.id, now],
    )
    const members = role.member_count
    const invitations = invited?.count ?? 0
    if (members === 0 && invitations === 0) return
    const message = `The role “${role.name}” is held by ${members} members and named by ${invitations} open invitations.`
    throw RoleInUse({ message, details: { members, invitations } })
  }

  async #moveHolders(turn: Turn, id: string, replacement: ChosenRole, now: Date): Promise<void> {
    // An owner has every scope, so overrides would mean nothing.
    const plain = replacement.builtIn === 'owner'
    const to = [id, replacement.builtIn, replacement.roleId, plain, now] as const
    const moved = await turn.sql.rows<{ user_id: string }>(
      `update workspace_members set role = $2, role_id = $3, version = version + 1, updated_at = $5,
         added_scopes = case when $4 then '{}' else added_scopes end,
         removed_scopes = case when $4 then '{}' else removed_scopes end
       where role_id = $1 returning user_id`,
      to,
    )
    await turn.sql.run(
      `update invitations set role = $2, role_id = $3, updated_at = $5,
         added_scopes = case when $4 then '{}' else added_scopes end,
         removed_scopes = case when $4 then '{}' else removed_scopes end
       where role_id = $1 and status = 'open'`,
      to,
    )
    const userIds = moved.map((row) => row.user_id)
    for (const row of await findMembers(turn.sql, turn.workspaceId, userIds)) turn.emit(memberUpdated, memberState(row))
  }

  async #requireFree(turn: Turn, name: string, except: string | null = null): Promise<void> {
    const taken = isBuiltIn(name.toLowerCase()) || (await isNameTaken(turn, 'roles', name, except))
    if (taken) throw NameTaken({ message: `There is a role called “${name}” already.` })
  }

  async #own(turn: Turn, id: string, ifMatch: IfMatch): Promise<RoleRow> {
    if (isBuiltIn(id)) throw BuiltInRoleFixed()
    const row = await this.#find(turn, id)
    requireVersion(ifMatch, row.version)
    return row
  }

  async #find(turn: Turn, id: string): Promise<RoleRow> {
    const row = await turn.sql.row<RoleRow>(ONE, [turn.workspaceId, id])
    if (row === undefined) throw NotFound()
    return row
  }

  async #builtIn(workspaceId: string): Promise<RoleData[]> {
    const counts = await this.#sql.rows<{ role: string | null; count: number; created_at: string }>(
      `select m.role, count(*) as count, w.created_at from workspaces w
       left join workspace_members m on m.workspace_id = w.id and m.role is not null
       where w.id = $1 group by m.role, w.created_at`,
      [workspaceId],
    )
    const at = counts[0]?.created_at
    if (at === undefined) throw NotFound()
    return builtInRoles().map(({ name, scopes }) => ({
      _id: name,
      name,
      builtIn: true,
      scopes,
      memberCount: counts.find((row) => row.role === name)?.count ?? 0,
      version: 1,
      createdAt: at,
      updatedAt: at,
    }))
  }
}

function requireMayChange(actor: Actor, role: RoleRow): void {
  requireNotOutranked(actor, role.scopes.filter(isScope), `The role “${role.name}”`)
}

/** The roles that every workspace has. */
export function builtInRoles(): { _id: BuiltInRole; name: BuiltInRole; scopes: Scope[] }[] {
  const names = Object.keys(BUILT_IN_ROLES) as BuiltInRole[]
  return names.map((name) => ({ _id: name, name, scopes: [...BUILT_IN_ROLES[name]] }))
}

function view(row: RoleRow): RoleData {
  return {
    _id: row.id,
    name: row.name,
    builtIn: false,
    scopes: row.scopes.filter(isScope),
    memberCount: row.member_count,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
