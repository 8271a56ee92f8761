import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import { BUILT_IN_ROLES, isScope, type BuiltInRole, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { greaterThan } from '../../../db/condition.ts'
import type { PlanService } from '../../money/plans/index.ts'
import {
  addRole,
  changeRole,
  countBuiltInRoles,
  countRoles,
  createdAtOf,
  deleteRole,
  findRole,
  findRoleByName,
  listRoles,
  replaceRole,
  type CountedRole,
  type MemberCache,
} from '../workspaces/index.ts'
import { managerOf, requireGrantable, requireOwner, requireReachable, type Actor } from './authority.ts'
import { BuiltInRoleFixed, NameTaken, RoleInUse } from './errors.ts'
import { memberUpdated, roleCreated, roleDeleted, roleUpdated } from './events.ts'
import { findMembers, memberState } from './member-row.ts'
import { isBuiltIn, refused, roleById, type ChosenRole } from './role-choice.ts'
import type { NewRole, RoleChange, RoleData } from './schemas.ts'
import { afterChange, auditedChange, requireMayChange } from './scope-sets.ts'
import { invitations } from './tables.ts'

/** Roles: named sets of scopes. Five are built in; workspaces add their own. */
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

  /** Built-in roles first, then custom roles, oldest first. */
  async list(workspaceId: string): Promise<PageResult<RoleData>> {
    const [builtIn, custom] = await Promise.all([this.#builtIn(workspaceId), listRoles(this.#sql, workspaceId)])
    return { items: [...builtIn, ...custom.map(view)], limit: 100, nextCursor: null }
  }

  /** @throws AppError cannot_grant, name_taken, plan_limit_reached */
  async create(turn: Turn, caller: Caller, input: Static<typeof NewRole>): Promise<RoleData> {
    const actor = await managerOf(turn, caller)
    requireGrantable(actor, input.scopes)
    await this.#requireFree(turn, input.name)
    await this.#plans.requireRoom(turn.workspaceId, 'roles', await countRoles(turn.sql, turn.workspaceId))
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    addRole(turn, { id, name: input.name, scopes: [...input.scopes].sort(), createdAt: now, updatedAt: now })
    const role = view(await this.#find(turn, id))
    turn.audit({ kind: 'role', id, details: { name: role.name, scopes: role.scopes } })
    turn.emit(roleCreated, role)
    return role
  }

  /**
   * Changes the name or scopes of a role. Applies to its members at once.
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
    const next = afterChange(actor, 'role', before, change)
    await this.#requireHoldersReachable(turn, actor, before, { builtIn: null, scopes: next.scopes })
    if (change.name !== undefined) await this.#requireFree(turn, change.name, id)
    await changeRole(turn.sql, id, next, new Date(this.#clock.now()))
    const role = view(await this.#find(turn, id))
    turn.audit({ kind: 'role', id, details: auditedChange(before, role) })
    turn.emit(roleUpdated, role)
    this.#cache.changes(turn)
    return role
  }

  /**
   * @param replaceWith the role that members and open invitations get instead
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
    requireMayChange(actor, 'role', role)
    const replacement = await this.#replacement(turn, id, replaceWith)
    if (replacement !== undefined) {
      if (replacement.builtIn === 'owner') requireOwner(actor, 'Only an owner can make another member an owner.')
      requireGrantable(actor, replacement.scopes)
      await this.#requireHoldersReachable(turn, actor, role, replacement)
    }
    const now = new Date(this.#clock.now())
    await this.#requireUnused(turn, role, replacement, now)
    if (replacement !== undefined) await this.#moveHolders(turn, id, replacement, now)
    // Invitations lose the role when it is deleted, and an open one must have a role.
    await invitations.update(turn.sql, { roleId: id, status: 'open' }, { status: 'expired' })
    await deleteRole(turn.sql, id)
    const replacementRoleId = replacement === undefined ? null : (replacement.roleId ?? replacement.name)
    turn.audit({ kind: 'role', id, details: { name: role.name, scopes: role.scopes, replacementRoleId } })
    turn.emit(roleDeleted, { roleId: id, replacementRoleId })
    this.#cache.changes(turn)
  }

  async #replacement(turn: Turn, id: string, replaceWith: string | undefined): Promise<ChosenRole | undefined> {
    if (replaceWith === undefined) return undefined
    if (replaceWith === id) throw refused('/query/replaceWith', 'must be another role')
    const role = await roleById(turn.sql, turn.workspaceId, replaceWith)
    if (role === undefined) throw refused('/query/replaceWith', 'is not a role of this workspace')
    return role
  }

  /** @throws AppError outranked when the change affects a member who has scopes that the actor lacks */
  async #requireHoldersReachable(
    turn: Turn,
    actor: Actor,
    role: CountedRole,
    next: Pick<ChosenRole, 'builtIn' | 'scopes'>,
  ): Promise<void> {
    if (role.memberCount === 0) return
    const holders = await findMembers(turn.sql, { workspaceId: turn.workspaceId, roleId: [role.id] })
    const { builtIn, scopes } = next
    requireReachable(actor, holders, (member) => ({ ...member, role: builtIn, roleScopes: scopes }))
  }

  async #requireUnused(turn: Turn, role: CountedRole, replacement: ChosenRole | undefined, now: Date): Promise<void> {
    if (replacement !== undefined) return
    const open = { roleId: role.id, status: 'open', expiresAt: greaterThan(now) } as const
    const invited = await invitations.count(turn.sql, open)
    const members = role.memberCount
    if (members === 0 && invited === 0) return
    const message = `${members} members have the role “${role.name}”, and ${invited} open invitations name it.`
    throw RoleInUse({ message, details: { members, invitations: invited } })
  }

  async #moveHolders(turn: Turn, id: string, replacement: ChosenRole, now: Date): Promise<void> {
    const { builtIn: role, roleId } = replacement
    // Owners have every scope, so they have no overrides.
    const overrides = role === 'owner' && { addedScopes: [], removedScopes: [] }
    const userIds = await replaceRole(turn.sql, id, { role, roleId, ...overrides }, now)
    await invitations.update(turn.sql, { roleId: id, status: 'open' }, { role, roleId, ...overrides, updatedAt: now })
    const members = await findMembers(turn.sql, { workspaceId: turn.workspaceId, userIds })
    for (const member of members) turn.emit(memberUpdated, memberState(member))
  }

  async #requireFree(turn: Turn, name: string, except?: string): Promise<void> {
    const taken =
      isBuiltIn(name.toLowerCase()) || (await findRoleByName(turn.sql, turn.workspaceId, name, except)) !== undefined
    if (taken) throw NameTaken({ message: `There is already a role called “${name}”.` })
  }

  async #own(turn: Turn, id: string, ifMatch: IfMatch): Promise<CountedRole> {
    if (isBuiltIn(id)) throw BuiltInRoleFixed()
    const row = await this.#find(turn, id)
    requireVersion(ifMatch, row.version)
    return row
  }

  async #find(turn: Turn, id: string): Promise<CountedRole> {
    const row = await findRole(turn.sql, turn.workspaceId, id)
    if (row === undefined) throw NotFound()
    return row
  }

  async #builtIn(workspaceId: string): Promise<RoleData[]> {
    const at = await createdAtOf(this.#sql, workspaceId)
    const counts = await countBuiltInRoles(this.#sql, workspaceId)
    return builtInRoles().map(({ name, scopes }) => ({
      _id: name,
      name,
      builtIn: true,
      scopes,
      memberCount: counts.get(name) ?? 0,
      version: 1,
      createdAt: at,
      updatedAt: at,
    }))
  }
}

/** The roles that every workspace has. */
export function builtInRoles(): { _id: BuiltInRole; name: BuiltInRole; scopes: Scope[] }[] {
  const names = Object.keys(BUILT_IN_ROLES) as BuiltInRole[]
  return names.map((name) => ({ _id: name, name, scopes: [...BUILT_IN_ROLES[name]] }))
}

function view(row: CountedRole): RoleData {
  return {
    _id: row.id,
    name: row.name,
    builtIn: false,
    scopes: row.scopes.filter(isScope),
    memberCount: row.memberCount,
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
