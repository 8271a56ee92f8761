import { expressionBuilder, sql } from 'kysely'
import type { BuiltInRole, Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import { groupMembers, groups, workspaceMembers, workspaceTables, type WorkspaceDatabase } from './tables.ts'

/** What the scopes of a member are computed from; see `mergedScopes`. */
export interface ScopeSources {
  /** The built-in role, if the member has one. */
  readonly role: BuiltInRole | null
  /** The name and the scopes of the custom role, if the member has one. */
  readonly roleName: string | null
  readonly roleScopes: readonly string[] | null
  readonly groupScopes: readonly string[]
  readonly addedScopes: readonly Scope[]
  readonly removedScopes: readonly Scope[]
}

/** A member of a workspace, without the user's profile. */
export interface Membership extends ScopeSources {
  readonly workspaceId: string
  readonly userId: string
  readonly roleId: string | null
  readonly groups: readonly { readonly _id: string; readonly name: string }[]
  readonly version: number
  readonly joinedAt: string
  readonly updatedAt: string
}

/** Which role a member has, and how their scopes differ from those of role and groups. */
export interface Grant {
  readonly role: BuiltInRole | null
  readonly roleId: string | null
  readonly addedScopes: readonly Scope[]
  readonly removedScopes: readonly Scope[]
}

const e = expressionBuilder<WorkspaceDatabase & { m: WorkspaceDatabase['workspaceMembers'] }, 'm'>()

const groupsOfMember = e
  .selectFrom('groupMembers as gm')
  .innerJoin('groups as g', 'g.id', 'gm.groupId')
  .whereRef('gm.workspaceId', '=', 'm.workspaceId')
  .whereRef('gm.userId', '=', 'm.userId')

/** The columns of `ScopeSources`, where `m` is a row of workspace_members and `r` its custom role. */
export const SCOPE_SOURCES = [
  'm.role',
  'r.name as roleName',
  'r.scopes as roleScopes',
  'm.addedScopes',
  'm.removedScopes',
  sql<string[]>`array${groupsOfMember.select(sql<string>`unnest(g.scopes)`.as('scope')).distinct()}`.as('groupScopes'),
] as const

const groupNames = groupsOfMember.select(
  sql<Membership['groups']>`json_agg(json_build_object('_id', g.id, 'name', g.name) order by g.name, g.id)`.as('names'),
)

export interface MembershipFilter {
  readonly workspaceId: string
  readonly userIds?: readonly string[] | undefined
  /** Only members with one of these built-in roles or, if both are given, of these custom roles. */
  readonly role?: readonly BuiltInRole[] | undefined
  readonly roleId?: readonly string[] | undefined
}

interface MembershipPage {
  /** The last member of the page before. */
  readonly after?: { readonly createdAt: string; readonly id: string } | undefined
  readonly limit: number
}

interface MembershipQuery extends Pick<MembershipFilter, 'workspaceId' | 'userIds'> {
  readonly role?: Values<BuiltInRole> | undefined
  readonly roleId?: Values<string> | undefined
  readonly joinedBefore?: string | undefined
  readonly userBefore?: string | undefined
  readonly limit?: number | undefined
}

const memberships = query(workspaceTables, (db, $: MembershipQuery) => {
  let found = db
    .selectFrom('workspaceMembers as m')
    .innerJoin('workspaces as w', 'w.id', 'm.workspaceId')
    .leftJoin('roles as r', 'r.id', 'm.roleId')
    .select(SCOPE_SOURCES)
    .select(['m.workspaceId', 'm.userId', 'm.roleId', 'm.version', 'm.joinedAt', 'm.updatedAt'])
    .select(sql<Membership['groups']>`coalesce(${groupNames}, '[]')`.as('groups'))
    .where('m.workspaceId', '=', $.workspaceId)
    .where('w.deletedAt', 'is', null)
  if ($.userIds !== undefined) found = found.where('m.userId', '=', sql<string>`any(${$.userIds}::uuid[])`)
  const roles = [
    ...($.role === undefined ? [] : [isOneOf('m.role', $.role)]),
    ...($.roleId === undefined ? [] : [isOneOf('m.roleId', $.roleId)]),
  ]
  if (roles.length > 0) found = found.where((e) => e.or(roles))
  if ($.joinedBefore !== undefined) {
    found = found.where(
      sql<boolean>`(m.joined_at, m.user_id) < (${$.joinedBefore}::timestamptz, ${$.userBefore}::uuid)`,
    )
  }
  if ($.limit === undefined) return found.orderBy('m.userId')
  return found.orderBy('m.joinedAt', 'desc').orderBy('m.userId', 'desc').limit($.limit)
})

/** Members of a workspace that is not deleted, by user id. */
export function findMemberships(database: Sql, filter: MembershipFilter): Promise<Membership[]> {
  return memberships.rows(database, parametersOf(filter))
}

function parametersOf({ role, roleId, ...filter }: MembershipFilter): MembershipQuery {
  return { ...filter, role: values(role), roleId: values(roleId) }
}

/** One member of a workspace that is not deleted. */
export function findMembership(database: Sql, workspaceId: string, userId: string): Promise<Membership | undefined> {
  return memberships.row(database, { workspaceId, userIds: [userId] })
}

/** A page of `limit + 1` members for `pageOf`, newest first. */
export function membershipPage(
  database: Sql,
  filter: MembershipFilter,
  { after, limit }: MembershipPage,
): Promise<Membership[]> {
  return memberships.rows(database, {
    ...parametersOf(filter),
    joinedBefore: after?.createdAt,
    userBefore: after?.id,
    limit: limit + 1,
  })
}

/** The ids of all members of a workspace. */
export async function memberIds(database: Sql, workspaceId: string): Promise<string[]> {
  const rows = await workspaceMembers.find(database, { workspaceId }, { columns: ['userId'] })
  return rows.map(({ userId }) => userId)
}

/** The owners of a workspace, those who joined first at the front. */
export async function ownerIds(database: Sql, workspaceId: string): Promise<string[]> {
  const rows = await workspaceMembers.find(
    database,
    { workspaceId, role: 'owner' },
    { columns: ['userId'], orderBy: ['joinedAt asc', 'userId asc'] },
  )
  return rows.map(({ userId }) => userId)
}

export function countMembers(database: Sql, workspaceId: string): Promise<number> {
  return workspaceMembers.count(database, { workspaceId })
}

export function addMember(turn: Turn, userId: string, grant: Grant, now: Date): void {
  const { role, roleId, addedScopes, removedScopes } = grant
  turn.insert(workspaceMembers, {
    workspaceId: turn.workspaceId,
    userId,
    role,
    roleId,
    addedScopes: [...addedScopes],
    removedScopes: [...removedScopes],
    joinedAt: now,
    updatedAt: now,
  })
}

export async function changeGrant(turn: Turn, userId: string, grant: Grant, now: Date): Promise<void> {
  const { role, roleId, addedScopes, removedScopes } = grant
  await workspaceMembers.update(
    turn.sql,
    { workspaceId: turn.workspaceId, userId },
    {
      role,
      roleId,
      addedScopes: [...addedScopes],
      removedScopes: [...removedScopes],
      version: increment(),
      updatedAt: now,
    },
  )
}

/**
 * Gives the members with a custom role another role. They keep their added and removed scopes, unless `next` has others.
 * @returns the ids of these members
 */
export async function replaceRole(
  database: Sql,
  roleId: string,
  next: Pick<Grant, 'role' | 'roleId'> & { readonly addedScopes?: Scope[]; readonly removedScopes?: Scope[] },
  now: Date,
): Promise<string[]> {
  const changes = { ...next, version: increment(), updatedAt: now }
  const changed = await workspaceMembers.updateReturning(database, { roleId }, changes)
  return changed.map(({ userId }) => userId)
}

/** Removes a member from the workspace and its groups. */
export async function removeMember({ sql: database, workspaceId }: Turn, userId: string, now: Date): Promise<void> {
  const memberOf = await groupMembers.find(database, { workspaceId, userId }, { columns: ['groupId'] })
  if (memberOf.length > 0) {
    const ids = memberOf.map(({ groupId }) => groupId)
    await groups.update(database, { id: anyOf(ids) }, { version: increment(), updatedAt: now })
  }
  await workspaceMembers.delete(database, { workspaceId, userId })
}
