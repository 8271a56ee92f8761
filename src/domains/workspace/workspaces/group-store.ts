import { expressionBuilder, sql } from 'kysely'
import type { Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PageRequest } from '../../../core/page.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf, not, sameText } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { NewRow, Row } from '../../../db/row.ts'
import { groupMembers, groups, workspaceTables, type Group, type WorkspaceDatabase } from './tables.ts'

/** A group with the ids of its members. */
export interface GroupRow extends Row<typeof Group> {
  readonly memberIds: readonly string[]
}

const e = expressionBuilder<WorkspaceDatabase & { g: WorkspaceDatabase['groups'] }, 'g'>()

const membersOfGroup = sql<string[]>`array${e
  .selectFrom('groupMembers as gm')
  .select(sql<string>`gm.user_id::text`.as('id'))
  .whereRef('gm.groupId', '=', 'g.id')
  .orderBy('gm.userId')}`

interface GroupQuery {
  readonly workspaceId: string
  readonly id?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
}

const groupRows = query(workspaceTables, (db, $: GroupQuery) => {
  let found = db
    .selectFrom('groups as g')
    .select(['g.id', 'g.workspaceId', 'g.name', 'g.scopes', 'g.version', 'g.createdAt', 'g.updatedAt'])
    .select(membersOfGroup.as('memberIds'))
    .where('g.workspaceId', '=', $.workspaceId)
    .orderBy('g.id', 'desc')
    .limit($.limit)
  if ($.id !== undefined) found = found.where('g.id', '=', $.id)
  if ($.after !== undefined) found = found.where('g.id', '<', $.after)
  return found
})

const otherScopes = query(
  workspaceTables,
  (db, $: { workspaceId: string; groupId: string; userIds: readonly string[] }) =>
    db
      .selectFrom('groupMembers as gm')
      .innerJoin('groups as g', 'g.id', 'gm.groupId')
      .select(['gm.userId', 'g.scopes'])
      .where('gm.workspaceId', '=', $.workspaceId)
      .where('gm.userId', '=', sql<string>`any(${$.userIds}::uuid[])`)
      .where('gm.groupId', '<>', $.groupId),
)

/** A page of `limit + 1` groups for `pageOf`, newest first. */
export function groupPage(database: Sql, workspaceId: string, { after, limit }: PageRequest): Promise<GroupRow[]> {
  return groupRows.rows(database, { workspaceId, after: after?.id, limit: limit + 1 })
}

export function findGroup(database: Sql, workspaceId: string, id: string): Promise<GroupRow | undefined> {
  return groupRows.row(database, { workspaceId, id, limit: 1 })
}

/** @param except the id of a group that is left out */
export function isGroupName(database: Sql, workspaceId: string, name: string, except?: string): Promise<boolean> {
  return groups.exists(database, {
    workspaceId,
    name: sameText(name),
    ...(except !== undefined && { id: not(except) }),
  })
}

/** What users get from groups other than this one: scopes by user id. */
export async function scopesOfOtherGroups(
  database: Sql,
  workspaceId: string,
  groupId: string,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Scope[]>> {
  const scopes = new Map<string, Scope[]>()
  for (const row of await otherScopes.rows(database, { workspaceId, groupId, userIds })) {
    scopes.set(row.userId, [...(scopes.get(row.userId) ?? []), ...row.scopes])
  }
  return scopes
}

export function countGroups(database: Sql, workspaceId: string): Promise<number> {
  return groups.count(database, { workspaceId })
}

export function addGroup(turn: Turn, group: Omit<NewRow<typeof Group>, 'workspaceId'>): void {
  turn.insert(groups, { ...group, workspaceId: turn.workspaceId })
}

export async function changeGroup(
  database: Sql,
  id: string,
  change: Pick<NewRow<typeof Group>, 'name' | 'scopes'>,
  now: Date,
): Promise<void> {
  await groups.update(database, { id }, { ...change, version: increment(), updatedAt: now })
}

export async function deleteGroup(database: Sql, id: string): Promise<void> {
  await groups.delete(database, { id })
}

export function addGroupMembers(turn: Turn, groupId: string, userIds: readonly string[]): void {
  for (const userId of userIds) turn.insert(groupMembers, { groupId, workspaceId: turn.workspaceId, userId })
}

export async function removeGroupMembers(database: Sql, groupId: string, userIds: readonly string[]): Promise<void> {
  await groupMembers.delete(database, { groupId, userId: anyOf(userIds) })
}
