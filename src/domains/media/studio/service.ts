import type { Clock } from '../../../core/clock.ts'
import { MAX_FIELD_ERRORS } from '../../../core/error.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { atMost, lessThan } from '../../../db/condition.ts'
import { findAssets } from '../assets/index.ts'
import { assetsOf, checkProject, type AssetKind } from './check-project.ts'
import { studioProjectCreated, studioProjectDeleted, studioProjectUpdated } from './events.ts'
import type {
  NewFromTemplate,
  NewProject,
  ProjectData,
  ProjectEdit,
  ProjectSummaryData,
  ProjectVersionSummary,
  ProjectVersionView,
  ProjectViewData,
} from './schemas.ts'
import { projectOf } from './templates/from-template.ts'
import type { TemplateKey } from './templates/index.ts'
import { studioProjects, studioVersions, type ProjectRow, type VersionRow } from './tables.ts'

/** Projects of a workspace. */
const MAX_PROJECTS = 200
/** Versions of a project that are kept. */
const MAX_VERSIONS = 20
const DATA = '/body/projectData'
/** The message for a wrong kind of asset, by the first kind that is expected. */
const WRONG_KIND: Readonly<Record<AssetKind, string>> = {
  image: 'is not a picture',
  video: 'is not a video',
  audio: 'is not a sound',
}

/** The projects of the studio. Every save keeps the version before it. */
export class StudioProjects {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** A page of projects without their content, newest first. */
  async list(workspaceId: string, { after, limit }: PageRequest): Promise<PageResult<ProjectSummaryData>> {
    const rows = await studioProjects.find(
      this.#sql,
      { workspaceId, ...(after !== undefined && { id: lessThan(after.id) }) },
      { orderBy: ['id desc'], limit: limit + 1 },
    )
    return pageOf(rows, limit, keyOf, summaryOf)
  }

  /** @throws AppError not_found */
  async get(id: string): Promise<ProjectViewData> {
    return this.#view(this.#sql, await this.#row(this.#sql, id))
  }

  /** @throws AppError conflict, validation_failed */
  async create(turn: Turn, userId: string, body: Static<typeof NewProject>): Promise<ProjectViewData> {
    const { name, projectData } = body
    await this.#check(turn, projectData, new Set())
    if ((await studioProjects.count(turn.sql, { workspaceId: turn.workspaceId })) >= MAX_PROJECTS) {
      throw Conflict({ message: `A workspace has at most ${MAX_PROJECTS} studio projects.` })
    }
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    const times = { createdAt: now, updatedAt: now }
    const pageCount = projectData.pages.length
    const project = { id, workspaceId: turn.workspaceId, name, pageCount, version: 1, createdBy: userId, ...times }
    await studioProjects.insert(turn.sql, project)
    await this.#keep(turn, { projectId: id, version: 1, name, data: projectData, createdBy: userId })
    turn.audit({ kind: 'studio_project', id })
    const row = await this.#row(turn.sql, id)
    turn.emit(studioProjectCreated, summaryOf(row))
    return this.#view(turn.sql, row)
  }

  /** Creates a project from a template. @throws AppError conflict, validation_failed */
  async createFrom(
    turn: Turn,
    userId: string,
    key: TemplateKey,
    body: Static<typeof NewFromTemplate>,
  ): Promise<ProjectViewData> {
    const projectData = await projectOf(turn, key, body)
    return this.create(turn, userId, { workspaceId: body.workspaceId, name: body.name, projectData })
  }

  /** Saves a new version. @throws AppError not_found, precondition_failed, validation_failed */
  async update(
    turn: Turn,
    id: string,
    body: Static<typeof ProjectEdit>,
    { ifMatch, userId }: { readonly ifMatch: IfMatch; readonly userId: string },
  ): Promise<ProjectViewData> {
    const row = await this.#row(turn.sql, id)
    requireVersion(ifMatch, row.version)
    const { name = row.name, projectData } = body
    const stored = await this.#version(turn.sql, id, row.version)
    // Assets may have been deleted since. That must not prevent the rest of the work from being saved.
    await this.#check(turn, projectData, new Set(assetsOf(stored.data).map(({ assetId }) => assetId)))
    const version = row.version + 1
    const change = { name, version, pageCount: projectData.pages.length, updatedAt: new Date(this.#clock.now()) }
    await studioProjects.update(turn.sql, { id }, change)
    await this.#keep(turn, { projectId: id, version, name, data: projectData, createdBy: userId })
    await studioVersions.delete(turn.sql, { projectId: id, version: atMost(version - MAX_VERSIONS) })
    turn.audit({ kind: 'studio_project', id })
    const saved = await this.#row(turn.sql, id)
    turn.emit(studioProjectUpdated, summaryOf(saved))
    return this.#view(turn.sql, saved)
  }

  /** @throws AppError not_found, precondition_failed */
  async remove(turn: Turn, id: string, ifMatch: IfMatch): Promise<void> {
    const row = await this.#row(turn.sql, id)
    requireVersion(ifMatch, row.version)
    await studioProjects.delete(turn.sql, { id })
    turn.audit({ kind: 'studio_project', id, details: { name: row.name } })
    turn.emit(studioProjectDeleted, { studioProjectId: id })
  }

  /** A page of the kept versions, newest first. @throws AppError not_found */
  async versions(id: string, { after, limit }: PageRequest): Promise<PageResult<Static<typeof ProjectVersionSummary>>> {
    await this.#row(this.#sql, id)
    const rows = await studioVersions.find(
      this.#sql,
      { projectId: id, ...(after !== undefined && { id: lessThan(after.id) }) },
      { columns: ['id', 'version', 'name', 'createdBy', 'createdAt'], orderBy: ['id desc'], limit: limit + 1 },
    )
    return pageOf(rows, limit, keyOf, versionOf)
  }

  /** @throws AppError not_found */
  async version(id: string, version: string): Promise<Static<typeof ProjectVersionView>> {
    const row = await this.#version(this.#sql, id, Number(version))
    return { ...versionOf(row), projectData: row.data }
  }

  async #check(turn: Turn, data: ProjectData, known: ReadonlySet<string>): Promise<void> {
    const errors = checkProject(data, DATA)
    if (errors.length >= MAX_FIELD_ERRORS) throw ValidationFailed({ errors })
    const added = assetsOf(data, DATA).filter(({ assetId }) => !known.has(assetId))
    const ids = [...new Set(added.map(({ assetId }) => assetId))]
    const found = new Map((await findAssets(turn.sql, turn.workspaceId, ids)).map((asset) => [asset.id, asset]))
    for (const { assetId, at, fromSeconds, kinds } of added) {
      if (errors.length >= MAX_FIELD_ERRORS) break
      const asset = found.get(assetId)
      const kind = kinds.find((one) => one === asset?.kind)
      if (asset === undefined || kind === undefined) {
        const message = asset === undefined ? 'is not an asset of the media library' : WRONG_KIND[kinds[0] ?? 'image']
        errors.push({ path: `${at}/assetId`, code: 'asset', message })
      } else if (asset.seconds !== null && fromSeconds >= asset.seconds && fromSeconds > 0) {
        const message = `must be before the end of the asset, which has ${asset.seconds} s`
        errors.push({ path: `${at}/fromSeconds`, code: 'range', message })
      }
    }
    if (errors.length > 0) throw ValidationFailed({ errors })
  }

  async #keep(turn: Turn, version: Omit<VersionRow, 'id' | 'assetIds' | 'createdAt'>): Promise<void> {
    const now = this.#clock.now()
    const assetIds = [...new Set(assetsOf(version.data).map(({ assetId }) => assetId))]
    await studioVersions.insert(turn.sql, { ...version, assetIds, id: uuidv7(now), createdAt: new Date(now) })
  }

  async #row(sql: Sql, id: string): Promise<ProjectRow> {
    const row = await studioProjects.first(sql, { id })
    if (row === undefined) throw NotFound()
    return row
  }

  async #version(sql: Sql, projectId: string, version: number): Promise<VersionRow> {
    const row = await studioVersions.first(sql, { projectId, version })
    if (row === undefined) throw NotFound({ message: 'There is no such version, or it is not kept any more.' })
    return row
  }

  async #view(sql: Sql, row: ProjectRow): Promise<ProjectViewData> {
    const { data } = await this.#version(sql, row.id, row.version)
    return { ...summaryOf(row), projectData: data }
  }
}

function keyOf({ createdAt, id }: Pick<ProjectRow, 'createdAt' | 'id'>) {
  return { createdAt, id }
}

function summaryOf({ id, ...rest }: ProjectRow): ProjectSummaryData {
  return { _id: id, ...rest }
}

function versionOf(row: Omit<VersionRow, 'assetIds' | 'data' | 'projectId'>): Static<typeof ProjectVersionSummary> {
  const { createdAt, createdBy, id, name, version } = row
  return { _id: id, createdAt, createdBy, name, version }
}
