import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { ProjectData, RenderFormat, RenderStateName } from './schemas.ts'

const StudioProject = defineEntity({
  name: 'StudioProject',
  tableName: 'studio_projects',
  indexes: [
    { name: 'studio_projects_by_creator', properties: ['createdBy', 'id'] },
    { name: 'studio_projects_by_workspace', properties: ['workspaceId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'studio_projects_workspace_id_fkey', onDelete: 'cascade' }),
    name: p.text(),
    pageCount: p.integer(),
    version: p.integer(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** The content of a project, once for each version that is kept. The newest one is the project's. */
const StudioVersion = defineEntity({
  name: 'StudioVersion',
  tableName: 'studio_versions',
  indexes: [{ name: 'studio_versions_by_creator', properties: ['createdBy', 'id'] }],
  uniques: [{ name: 'studio_versions_number_key', properties: ['projectId', 'version'] }],
  properties: {
    id: p.uuid().primary(),
    projectId: references(StudioProject, { name: 'studio_versions_project_id_fkey', onDelete: 'cascade' }),
    version: p.integer(),
    name: p.text(),
    data: p.json<ProjectData>(),
    /** Those that it shows or plays. They may be deleted later. */
    assetIds: p.array().columnType('uuid[]').$type<string[]>(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
  },
})

/** A request for pictures or a video of a project. */
const StudioRender = defineEntity({
  name: 'StudioRender',
  tableName: 'studio_renders',
  indexes: [
    { name: 'studio_renders_by_creator', properties: ['createdBy', 'id'] },
    { name: 'studio_renders_by_project', properties: ['projectId', 'id'] },
    { name: 'studio_renders_by_workspace', properties: ['workspaceId'] },
    {
      name: 'studio_renders_open',
      expression:
        "create index studio_renders_open on studio_renders (workspace_id, id) where status in ('queued', 'running')",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'studio_renders_workspace_id_fkey', onDelete: 'cascade' }),
    projectId: references(StudioProject, { name: 'studio_renders_project_id_fkey', onDelete: 'cascade' }),
    version: p.integer(),
    format: p.text().$type<RenderFormat>(),
    pageNumbers: p.array().columnType('integer[]').$type<number[]>(),
    /** The folder may be deleted later. */
    folderId: p.uuid().nullable(),
    status: p.text().$type<RenderStateName>(),
    progress: p.integer(),
    /** The job of the outbox. */
    jobId: p.uuid(),
    /** The assets may be deleted later. */
    assetIds: p.array().columnType('uuid[]').$type<string[]>(),
    error: p.text().nullable(),
    createdBy: p.uuid(),
    finishedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const studioProjects = table(StudioProject)
export const studioVersions = table(StudioVersion)
export const studioRenders = table(StudioRender)
export type ProjectRow = Row<typeof StudioProject>
export type VersionRow = Row<typeof StudioVersion>
export type RenderRow = Row<typeof StudioRender>
export const studioEntities = [StudioProject, StudioVersion, StudioRender]
