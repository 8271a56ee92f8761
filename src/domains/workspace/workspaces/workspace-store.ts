import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { workspaceUpdated } from './events.ts'
import { AI_DEFAULTS, type AiSettingsData } from './schemas.ts'
import { workspaces } from './tables.ts'
import { stateOf } from './views.ts'

/** The owner whose plan a workspace counts against. Undefined when there is no workspace, or it was deleted. */
export async function payerOf(sql: Sql, workspaceId: string): Promise<string | undefined> {
  const row = await workspaces.first(sql, { id: workspaceId, deletedAt: null }, { columns: ['ownerId'] })
  return row?.ownerId
}

/** The owner of a workspace, also of a deleted one until it is purged. */
export async function ownerOfWorkspace(sql: Sql, workspaceId: string): Promise<string | undefined> {
  const row = await workspaces.first(sql, { id: workspaceId }, { columns: ['ownerId'] })
  return row?.ownerId
}

/** How many workspaces count against the plan of a user. */
export function countOwned(sql: Sql, userId: string): Promise<number> {
  return workspaces.count(sql, { ownerId: userId, deletedAt: null })
}

/** The ids of the workspaces that count against the plan of a user. */
export async function findOwned(sql: Sql, userId: string): Promise<string[]> {
  const rows = await workspaces.find(sql, { ownerId: userId, deletedAt: null }, { columns: ['id'] })
  return rows.map(({ id }) => id)
}

/** Locks a workspace until the transaction ends, so that other transactions that lock it wait. */
export async function lockWorkspace(sql: Sql, workspaceId: string): Promise<void> {
  await workspaces.first(sql, { id: workspaceId }, { columns: ['id'], lock: 'for no key update' })
}

/** Counts the workspace of a turn against the plan of another owner. @throws AppError not_found */
export async function changePayer(turn: Turn, userId: string, now: Date): Promise<void> {
  const [row] = await workspaces.updateReturning(
    turn.sql,
    { id: turn.workspaceId },
    { ownerId: userId, updatedAt: now, version: increment() },
  )
  if (row === undefined) throw NotFound()
  turn.emit(workspaceUpdated, stateOf(row))
}

/** When a workspace was created. @throws AppError not_found */
export async function createdAtOf(sql: Sql, workspaceId: string): Promise<string> {
  const row = await workspaces.first(sql, { id: workspaceId }, { columns: ['createdAt'] })
  if (row === undefined) throw NotFound()
  return row.createdAt
}

/** The names of workspaces by id, without deleted ones. */
export async function findNames(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await workspaces.find(sql, { id: anyOf(ids), deletedAt: null }, { columns: ['id', 'name'] })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The time zone of a workspace; UTC if it is gone. */
export async function timeZoneOf(sql: Sql, id: string): Promise<string> {
  return (await workspaces.first(sql, { id }, { columns: ['timezone'] }))?.timezone ?? 'UTC'
}

/** How texts for a workspace are generated. */
export async function aiSettingsOf(sql: Sql, id: string): Promise<AiSettingsData> {
  return { ...AI_DEFAULTS, ...(await workspaces.first(sql, { id }, { columns: ['aiSettings'] }))?.aiSettings }
}
