import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'
import { requireRoom } from '../../workspace/workspaces/collections.ts'
import { folderUpdated } from './events.ts'
import type { FolderNodeData } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly assetFolders: AssetFolders
  }
}

/** Folders within folders, at most. */
const MOST_LEVELS = 20

interface FolderRow {
  readonly id: string
  readonly parent_id: string | null
  readonly name: string
  readonly asset_count: number
  readonly created_at: string
  readonly updated_at: string
}

const SELECT = `select f.id, f.parent_id, f.name, f.created_at, f.updated_at,
    (select count(*)::int from assets a where a.folder_id = f.id and a.deleted_at is null) as asset_count
  from asset_folders f`

/**
 * The tree of folders. It is changed in turns of its workspace, one after the other, so that two moves at the same time
 * cannot make a circle together.
 */
export class AssetFolders {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #plans: PlanService

  constructor(sql: Sql, clock: Clock, plans: PlanService) {
    this.#sql = sql
    this.#clock = clock
    this.#plans = plans
  }

  /** Every folder, each behind its parent and among its siblings by name. */
  async tree(workspaceId: string): Promise<FolderNodeData[]> {
    const rows = await this.#sql.rows<FolderRow>(`${SELECT} where f.workspace_id = $1 order by lower(f.name), f.id`, [
      workspaceId,
    ])
    const children = Map.groupBy(rows, (row) => row.parent_id)
    const nodes: FolderNodeData[] = []
    const visit = (parent: string | null, above: string, depth: number) => {
      for (const row of children.get(parent) ?? []) {
        const path = above === '' ? row.name : `${above}/${row.name}`
        const childIds = (children.get(row.id) ?? []).map((child) => child.id)
        nodes.push({ ...view(row), path, depth, childIds })
        visit(row.id, path, depth + 1)
      }
    }
    visit(null, '', 0)
    return nodes
  }

  /** @throws AppError not_found (the parent), plan_limit_reached, conflict (the name, too deep) */
  async create(turn: Turn, given: string, parentId: string | null) {
    const name = given.normalize()
    if (parentId !== null && (await this.#above(turn, parentId)).length >= MOST_LEVELS) throw tooDeep()
    await requireRoom(turn, this.#plans, 'folders')
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    await this.#requireFreeName(turn, name, parentId, id)
    await turn.sql.run(
      `insert into asset_folders (id, workspace_id, parent_id, name, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $5)`,
      [id, turn.workspaceId, parentId, name, now],
    )
    turn.audit({ kind: 'asset_folder', id })
    turn.emit(folderUpdated, {})
    return this.#read(turn, id)
  }

  /** Renames or moves a folder. @throws AppError not_found, conflict (the name, a circle, too deep) */
  async change(turn: Turn, id: string, edit: { readonly name?: string; readonly parentId?: string | null }) {
    const row = await this.#row(turn, id)
    const name = edit.name?.normalize() ?? row.name
    const parentId = edit.parentId === undefined ? row.parent_id : edit.parentId
    if (parentId !== null && parentId !== row.parent_id) {
      const above = await this.#above(turn, parentId)
      if (above.includes(id)) throw Conflict({ message: 'A folder cannot be moved into itself or what is in it.' })
      if (above.length + (await this.#height(turn, id)) > MOST_LEVELS) throw tooDeep()
    }
    await this.#requireFreeName(turn, name, parentId, id)
    await turn.sql.run('update asset_folders set name = $2, parent_id = $3, updated_at = $4 where id = $1', [
      id,
      name,
      parentId,
      new Date(this.#clock.now()),
    ])
    turn.audit({ kind: 'asset_folder', id })
    turn.emit(folderUpdated, {})
    return this.#read(turn, id)
  }

  /** Removes a folder, whose folders move up one level. @returns its parent @throws AppError not_found */
  async remove(turn: Turn, id: string): Promise<string | null> {
    const { parent_id: parentId } = await this.#row(turn, id)
    const children = await turn.sql.rows<FolderRow>(`${SELECT} where f.parent_id = $1 order by f.id`, [id])
    for (const child of children) await this.#moveUp(turn, child, parentId, id)
    await this.#delete(turn, id, [id])
    return parentId
  }

  /** Removes a folder with those in it. @param empty what becomes of their assets @throws AppError not_found */
  async removeTree(turn: Turn, id: string, empty: (folderIds: readonly string[]) => Promise<void>): Promise<void> {
    await this.#row(turn, id)
    const gone = (await this.#levels(turn, id)).map((row) => row.id)
    await empty(gone)
    await this.#delete(turn, id, gone)
  }

  async #delete(turn: Turn, id: string, gone: readonly string[]): Promise<void> {
    await turn.sql.run('delete from asset_folders where id = any($1)', [gone])
    turn.audit({ kind: 'asset_folder', id })
    turn.emit(folderUpdated, {})
  }

  /** @throws AppError not_found when the workspace has no such folder */
  async require(sql: Sql, workspaceId: string, id: string | null | undefined): Promise<void> {
    if (id === null || id === undefined) return
    const row = await sql.row('select 1 as one from asset_folders where id = $1 and workspace_id = $2', [
      id,
      workspaceId,
    ])
    if (row === undefined) throw NotFound({ message: 'There is no such folder in this workspace.' })
  }

  /** Siblings of the same name are told apart by a number. */
  async #moveUp(turn: Turn, child: FolderRow, parentId: string | null, from: string): Promise<void> {
    let name = child.name
    for (let count = 2; (await this.#taken(turn, name, parentId, [child.id, from])) !== undefined; count += 1) {
      name = `${child.name.slice(0, 92)} (${count})`
    }
    await turn.sql.run('update asset_folders set parent_id = $2, name = $3 where id = $1', [child.id, parentId, name])
  }

  async #requireFreeName(turn: Turn, name: string, parentId: string | null, self: string): Promise<void> {
    if ((await this.#taken(turn, name, parentId, [self])) === undefined) return
    throw Conflict({ message: `There is a folder called ${name} in the same place.` })
  }

  #taken(turn: Turn, name: string, parentId: string | null, except: string[]): Promise<object | undefined> {
    return turn.sql.row(
      `select 1 as one from asset_folders where workspace_id = $1 and lower(name) = lower($2)
         and parent_id is not distinct from $3::uuid and id <> all($4::uuid[])`,
      [turn.workspaceId, name, parentId, except],
    )
  }

  async #row(turn: Turn, id: string): Promise<FolderRow> {
    const row = await turn.sql.row<FolderRow>(`${SELECT} where f.id = $1 and f.workspace_id = $2`, [
      id,
      turn.workspaceId,
    ])
    if (row === undefined) throw NotFound()
    return row
  }

  async #read(turn: Turn, id: string) {
    return view(await this.#row(turn, id))
  }

  /** The folder itself and every one above it. @throws AppError not_found */
  async #above(turn: Turn, id: string): Promise<string[]> {
    const rows = await turn.sql.rows<{ id: string }>(
      `with recursive up as (
         select id, parent_id, 1 as level from asset_folders where id = $1 and workspace_id = $2
         union all select f.id, f.parent_id, up.level + 1 from asset_folders f join up on f.id = up.parent_id
           where up.level < 100)
       select id from up`,
      [id, turn.workspaceId],
    )
    if (rows.length === 0) throw NotFound({ message: 'There is no such folder in this workspace.' })
    return rows.map((row) => row.id)
  }

  async #height(turn: Turn, id: string): Promise<number> {
    return Math.max(...(await this.#levels(turn, id)).map((row) => row.level))
  }

  /** The folder itself and every one in it. */
  #levels(turn: Turn, id: string): Promise<{ id: string; level: number }[]> {
    return turn.sql.rows<{ id: string; level: number }>(
      `with recursive down as (
         select id, 1 as level from asset_folders where id = $1
         union all select f.id, down.level + 1 from asset_folders f join down on f.parent_id = down.id
           where down.level < 100)
       select id, level from down`,
      [id],
    )
  }
}

function tooDeep() {
  return Conflict({ message: `Folders may be ${MOST_LEVELS} levels deep.` })
}

function view(row: FolderRow) {
  return {
    _id: row.id,
    name: row.name,
    parentId: row.parent_id,
    assetCount: row.asset_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
