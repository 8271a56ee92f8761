import type { Clock } from '../../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf, lessThan } from '../../../../db/condition.ts'
import type { AssetFolders, AssetLibrary, Quota } from '../../assets/index.ts'
import { studioRenderCreated, studioRenderUpdated } from '../events.ts'
import { renderStudioPages } from '../jobs.ts'
import {
  DEFAULT_PAGE_SECONDS,
  MAX_VIDEO_SECONDS,
  OPEN_STATES,
  type NewRenderData,
  type StudioRenderData,
} from '../schemas.ts'
import type { MonthlyUses } from '../../../money/plans/index.ts'
import { sizeOf } from '../page-formats.ts'
import { studioProjects, studioRenders, studioVersions, type ProjectRow, type RenderRow } from '../tables.ts'
import type { RenderOutcome } from './outcome.ts'

/** Renderings of a workspace that have not ended. */
const MAX_OPEN = 50
/** Renderings of a project that are kept. */
const MAX_KEPT = 100

interface Dependencies {
  readonly sql: Sql
  readonly clock: Clock
  readonly folders: AssetFolders
  readonly library: AssetLibrary
  readonly planUses: Pick<MonthlyUses, 'take'>
  readonly quota: Quota
}

/** Requests, cancels and ends renderings of projects, in turns of their workspace. */
export class StudioRenders {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Requests a rendering of the newest version, unless the same one has not ended. @throws AppError not_found, conflict, plan_limit_reached, validation_failed, storage_limit_reached */
  async create(turn: Turn, projectId: string, userId: string, body: NewRenderData): Promise<StudioRenderData> {
    const { clock, folders, planUses, quota } = this.#dependencies
    const project = await studioProjects.first(turn.sql, { id: projectId })
    if (project === undefined) throw NotFound()
    const { folderId = null, format = 'png' } = body
    const pageNumbers = pagesOf(body, project)
    if (format === 'mp4') await this.#checkVideo(turn, project, pageNumbers)
    await folders.require(turn.sql, turn.workspaceId, folderId)
    await quota.requireSpace(turn.sql, turn.workspaceId)
    const open = await studioRenders.find(
      turn.sql,
      { workspaceId: turn.workspaceId, status: anyOf(OPEN_STATES) },
      { orderBy: ['id asc'], limit: MAX_OPEN },
    )
    // A repeated request returns the same rendering.
    const same = open.find((row) => isSame(row, { projectId, version: project.version, format, folderId, pageNumbers }))
    if (same !== undefined) return renderView(same)
    if (open.length >= MAX_OPEN) {
      throw Conflict({
        message: `${open.length} renderings of this workspace have not ended. Wait for one, or cancel it.`,
      })
    }
    await planUses.take(turn.sql, turn.workspaceId, 'rendersPerMonth')
    const now = new Date(clock.now())
    const id = uuidv7(now.getTime())
    await studioRenders.insert(turn.sql, {
      id,
      workspaceId: turn.workspaceId,
      projectId,
      version: project.version,
      format,
      pageNumbers,
      folderId,
      status: 'queued',
      progress: 0,
      jobId: turn.job(renderStudioPages, { studioRenderId: id }),
      assetIds: [],
      error: null,
      createdBy: userId,
      finishedAt: null,
      createdAt: now,
      updatedAt: now,
    })
    await this.#prune(turn, projectId)
    turn.audit({ kind: 'studio_render', id })
    const view = await this.get(id, turn.sql)
    turn.emit(studioRenderCreated, view)
    return view
  }

  /** @throws AppError not_found */
  async get(id: string, sql = this.#dependencies.sql): Promise<StudioRenderData> {
    const row = await studioRenders.first(sql, { id })
    if (row === undefined) throw NotFound()
    return renderView(row)
  }

  /** A page of the renderings of a project, newest first. */
  async list(projectId: string, { after, limit }: PageRequest): Promise<PageResult<StudioRenderData>> {
    const rows = await studioRenders.find(
      this.#dependencies.sql,
      { projectId, ...(after !== undefined && { id: lessThan(after.id) }) },
      { orderBy: ['id desc'], limit: limit + 1 },
    )
    return pageOf(rows, limit, ({ createdAt, id }) => ({ createdAt, id }), renderView)
  }

  /** Cancels a rendering that has not ended. @throws AppError not_found, conflict */
  async cancel(turn: Turn, id: string): Promise<StudioRenderData> {
    const row = await studioRenders.first(turn.sql, { id })
    if (row === undefined) throw NotFound()
    if (!isOpen(row)) {
      throw Conflict({ message: `The rendering is ${row.status}. Only one that has not ended is cancelled.` })
    }
    turn.audit({ kind: 'studio_render', id })
    return this.#end(turn, row, { status: 'cancelled' })
  }

  /**
   * Adds the files of a rendering to the media library and ends it. It has no effect if it has ended or was deleted.
   * @returns the ids of files that are not used, because the workspace has the same contents, or the rendering has ended
   */
  async record(turn: Turn, id: string, outcome: RenderOutcome): Promise<readonly string[]> {
    const { library } = this.#dependencies
    const row = await studioRenders.first(turn.sql, { id })
    const files = outcome.status === 'done' ? outcome.files : []
    if (row === undefined || !isOpen(row)) {
      // If it is done, an earlier run of this turn has added these files.
      return row?.status === 'done' ? [] : files.map(({ file }) => file.fileId)
    }
    if (outcome.status === 'failed') {
      await this.#end(turn, row, outcome)
      return []
    }
    const assetIds: string[] = []
    const unused: string[] = []
    for (const { file, name, reservationId } of files) {
      const { folderId, createdBy: userId } = row
      const added = await library.add(turn, { file, name, reservationId, userId, folderId })
      assetIds.push(added.asset._id)
      if (added.fileId !== file.fileId) unused.push(file.fileId)
    }
    await this.#end(turn, row, { status: 'done', assetIds })
    return unused
  }

  async #end(
    turn: Turn,
    { id, progress }: RenderRow,
    end: Pick<RenderRow, 'status'> & Partial<Pick<RenderRow, 'assetIds' | 'error'>>,
  ): Promise<StudioRenderData> {
    const now = new Date(this.#dependencies.clock.now())
    const change = { ...end, progress: end.status === 'done' ? 100 : progress, finishedAt: now, updatedAt: now }
    await studioRenders.update(turn.sql, { id }, change)
    const view = await this.get(id, turn.sql)
    turn.emit(studioRenderUpdated, view)
    return view
  }

  /** @throws AppError validation_failed if the pages cannot be a video */
  async #checkVideo(turn: Turn, { id, version }: ProjectRow, pageNumbers: readonly number[]): Promise<void> {
    const stored = await studioVersions.first(turn.sql, { projectId: id, version })
    const pages = pageNumbers.flatMap((number) => stored?.data.pages[number - 1] ?? [])
    const sizes = pages.map(sizeOf)
    const { height = 0, width = 0 } = sizes[0] ?? {}
    const message = sizes.some((size) => size.width !== width || size.height !== height)
      ? 'needs pages of the same width and height'
      : width % 2 !== 0 || height % 2 !== 0
        ? 'needs pages whose width and height are even numbers'
        : pages.reduce((sum, page) => sum + (page.seconds ?? DEFAULT_PAGE_SECONDS), 0) > MAX_VIDEO_SECONDS
          ? `needs pages of at most ${MAX_VIDEO_SECONDS} seconds in total`
          : undefined
    if (message !== undefined) throw ValidationFailed({ errors: [{ path: '/body/format', code: 'pages', message }] })
  }

  /** Deletes the oldest renderings that have ended. Their assets stay. */
  async #prune(turn: Turn, projectId: string): Promise<void> {
    const kept = await studioRenders.find(
      turn.sql,
      { projectId },
      { columns: ['id'], orderBy: ['id desc'], limit: MAX_KEPT },
    )
    const oldest = kept[MAX_KEPT - 1]
    if (oldest === undefined) return
    const ended = anyOf(['done', 'failed', 'cancelled'] as const)
    await studioRenders.delete(turn.sql, { projectId, id: lessThan(oldest.id), status: ended })
  }
}

/** @throws AppError validation_failed */
function pagesOf({ pageNumbers }: NewRenderData, { pageCount }: ProjectRow): number[] {
  if (pageNumbers === undefined) return Array.from({ length: pageCount }, (_, index) => index + 1)
  const errors = pageNumbers.flatMap((number, index) =>
    number <= pageCount
      ? []
      : [{ path: `/body/pageNumbers/${index}`, code: 'page', message: `must be at most ${pageCount}` }],
  )
  if (errors.length > 0) throw ValidationFailed({ errors })
  return pageNumbers
}

type Wanted = Pick<RenderRow, 'projectId' | 'version' | 'format' | 'folderId' | 'pageNumbers'>

function isSame(row: RenderRow, wanted: Wanted): boolean {
  const { folderId, format, pageNumbers, projectId, version } = wanted
  const isSameFile = row.projectId === projectId && row.version === version && row.format === format
  return isSameFile && row.folderId === folderId && row.pageNumbers.join() === pageNumbers.join()
}

function isOpen({ status }: Pick<RenderRow, 'status'>): boolean {
  return (OPEN_STATES as readonly string[]).includes(status)
}

function renderView({ id, projectId, ...rest }: RenderRow): StudioRenderData {
  return { _id: id, studioProjectId: projectId, ...rest }
}
