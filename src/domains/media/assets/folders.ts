import { sql } from 'kysely'
import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf, sameText } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { folderUpdated } from './events.ts'
import type { FolderNodeData } from './schemas.ts'
import { assetFolders, mediaTables } from './tables.ts'

/** Maximum depth of nested folders. */
const MAX_DEPTH = 20

interface FolderRow {
  readonly id: string
  readonly parentId: string | null
  readonly name: string
  readonly assetCount: number
  readonly createdAt: string
  readonly updatedAt: string
}

interface FolderFilter {
  readonly workspaceId: string
  readonly id?: string
  readonly parentId?: string
}

/** Folders by name, with the number of assets in each. */
const find = query(mediaTables, (db, $: FolderFilter) => {
  const found = db
    .selectFrom('assetFolders as f')
    .select(['f.id', 'f.parentId', 'f.name', 'f.assetCount', 'f.createdAt', 'f.updatedAt'])
    .where('f.workspaceId', '=', $.workspaceId)
    .orderBy((e) => e.fn<string>('lower', ['f.name']))
    .orderBy('f.id')
  if ($.id !== undefined) return found.where('f.id', '=', $.id)
  return $.parentId === undefined ? found : found.where('f.parentId', '=', $.parentId)
})

/** Ends the recursion if the tree has a cycle, which would be a bug. */
const RECURSION_LIMIT = 100

/** A folder and its ancestors. */
const pathOf = query(mediaTables, (db, $: { id: string; workspaceId: string }) =>
  db
    .withRecursive('up', (cte) =>
      cte
        .selectFrom('assetFolders as f')
        .select(['f.id', 'f.parentId', sql<number>`1`.as('level')])
        .where('f.id', '=', $.id)
        .where('f.workspaceId', '=', $.workspaceId)
        .unionAll(
          cte
            .selectFrom('assetFolders as f')
            .innerJoin('up', 'f.id', 'up.parentId')
            .select(['f.id', 'f.parentId', sql<number>`up.level + 1`.as('level')])
            .where('up.level', '<', RECURSION_LIMIT),
        ),
    )
    .selectFrom('up')
    .select('up.id'),
)

/** A folder and its descendants. The folder itself has level 1, its children have level 2. */
const treeBelow = query(mediaTables, (db, $: { id: string }) =>
  db
    .withRecursive('down', (cte) =>
      cte
        .selectFrom('assetFolders as f')
        .select(['f.id', sql<number>`1`.as('level')])
        .where('f.id', '=', $.id)
        .unionAll(
          cte
            .selectFrom('assetFolders as f')
            .innerJoin('down', 'f.parentId', 'down.id')
            .select(['f.id', sql<number>`down.level + 1`.as('level')])
            .where('down.level', '<', RECURSION_LIMIT),
        ),
    )
    .selectFrom('down')
    .select(['down.id', 'down.level']),
)

/**
 * The folder tree of each workspace. It changes only in turns of the workspace, which run one after the other, so
 * concurrent moves cannot form a cycle.
 */
export class AssetFolders {
  readonly #database: Sql
  readonly #clock: Clock
  readonly #plans: PlanService

  constructor(database: Sql, clock: Clock, plans: PlanService) {
    this.#database = database
    this.#clock = clock
    this.#plans = plans
  }

  /** All folders. Parents come before their children, and siblings are sorted by name. */
  async tree(workspaceId: string): Promise<FolderNodeData[]> {
    const rows = await find.rows(this.#database, { workspaceId })
    const children = Map.groupBy(rows, (row) => row.parentId)
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
    if (parentId !== null && (await this.#above(turn, parentId)).length >= MAX_DEPTH) throw tooDeep()
    const { workspaceId } = turn
    await this.#plans.requireRoom(workspaceId, 'folders', await assetFolders.count(turn.sql, { workspaceId }))
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    await this.#requireFreeName(turn, name, parentId, id)
    await assetFolders.insert(turn.sql, { id, workspaceId, parentId, name, createdAt: now, updatedAt: now })
    turn.audit({ kind: 'asset_folder', id })
    turn.emit(folderUpdated, {})
    return this.#read(turn, id)
  }

  /** Renames or moves a folder. @throws AppError not_found, conflict (the name, a cycle, too deep) */
  async update(turn: Turn, id: string, edit: { readonly name?: string; readonly parentId?: string | null }) {
    const row = await this.#row(turn, id)
    const name = edit.name?.normalize() ?? row.name
    const parentId = edit.parentId === undefined ? row.parentId : edit.parentId
    if (parentId !== null && parentId !== row.parentId) {
      const above = await this.#above(turn, parentId)
      if (above.includes(id))
        throw Conflict({ message: 'A folder cannot be moved into itself or into a folder inside it.' })
      if (above.length + (await this.#height(turn, id)) > MAX_DEPTH) throw tooDeep()
    }
    await this.#requireFreeName(turn, name, parentId, id)
    await assetFolders.update(turn.sql, { id }, { name, parentId, updatedAt: new Date(this.#clock.now()) })
    turn.audit({ kind: 'asset_folder', id })
    turn.emit(folderUpdated, {})
    return this.#read(turn, id)
  }

  /**
   * Deletes a folder and moves its subfolders to its parent.
   * @param empty called with the parent's id before the folder is deleted, to move its assets
   * @throws AppError not_found
   */
  async remove(turn: Turn, id: string, empty: (parentId: string | null) => Promise<void>): Promise<void> {
    const { parentId } = await this.#row(turn, id)
    const children = await find.rows(turn.sql, { workspaceId: turn.workspaceId, parentId: id })
    for (const child of children) await this.#moveUp(turn, child, parentId, id)
    await empty(parentId)
    await this.#delete(turn, id, [id])
  }

  /** Deletes a folder and its descendants. @param empty called with their ids first, to remove their assets @throws AppError not_found */
  async removeTree(turn: Turn, id: string, empty: (folderIds: readonly string[]) => Promise<void>): Promise<void> {
    await this.#row(turn, id)
    const folderIds = (await this.#levels(turn, id)).map((row) => row.id)
    await empty(folderIds)
    await this.#delete(turn, id, folderIds)
  }

  async #delete(turn: Turn, id: string, folderIds: readonly string[]): Promise<void> {
    await assetFolders.delete(turn.sql, { id: anyOf(folderIds) })
    turn.audit({ kind: 'asset_folder', id })
    turn.emit(folderUpdated, {})
  }

  /** Checks that the workspace has this folder. @throws AppError not_found */
  async require(database: Sql, workspaceId: string, id: string | null | undefined): Promise<void> {
    if (id === null || id === undefined) return
    if (await assetFolders.exists(database, { id, workspaceId })) return
    throw NotFound({ message: 'The workspace has no folder with this id.' })
  }

  /** Appends a number to the name if a sibling has the same name. */
  async #moveUp(turn: Turn, child: FolderRow, parentId: string | null, from: string): Promise<void> {
    let name = child.name
    for (let count = 2; await this.#isTaken(turn, name, parentId, [child.id, from]); count += 1) {
      name = `${child.name.slice(0, 92)} (${count})`
    }
    await assetFolders.update(turn.sql, { id: child.id }, { parentId, name })
  }

  async #requireFreeName(turn: Turn, name: string, parentId: string | null, self: string): Promise<void> {
    if (!(await this.#isTaken(turn, name, parentId, [self]))) return
    throw Conflict({ message: `A folder named ${name} already exists here.` })
  }

  async #isTaken(turn: Turn, name: string, parentId: string | null, except: readonly string[]): Promise<boolean> {
    const { workspaceId } = turn
    const same = await assetFolders.find(turn.sql, { workspaceId, name: sameText(name), parentId }, { columns: ['id'] })
    return same.some(({ id }) => !except.includes(id))
  }

  async #row(turn: Turn, id: string): Promise<FolderRow> {
    const row = await find.row(turn.sql, { workspaceId: turn.workspaceId, id })
    if (row === undefined) throw NotFound()
    return row
  }

  async #read(turn: Turn, id: string) {
    return view(await this.#row(turn, id))
  }

  /** The ids of a folder and its ancestors. @throws AppError not_found */
  async #above(turn: Turn, id: string): Promise<string[]> {
    const rows = await pathOf.rows(turn.sql, { id, workspaceId: turn.workspaceId })
    if (rows.length === 0) throw NotFound({ message: 'The workspace has no folder with this id.' })
    return rows.map((row) => row.id)
  }

  async #height(turn: Turn, id: string): Promise<number> {
    return Math.max(...(await this.#levels(turn, id)).map((row) => row.level))
  }

  /** A folder and its descendants. */
  #levels(turn: Turn, id: string): Promise<{ id: string; level: number }[]> {
    return treeBelow.rows(turn.sql, { id })
  }
}

function tooDeep() {
  return Conflict({ message: `Folders can be nested at most ${MAX_DEPTH} levels deep.` })
}

function view(row: FolderRow) {
  return {
    _id: row.id,
    name: row.name,
    parentId: row.parentId,
    assetCount: row.assetCount,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
