import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { ProjectData } from './schemas.ts'

const StudioProject = defineEntity({
  name: 'StudioProject',
  tableName: 'studio_projects',
  indexes: [{ name: 'studio_projects_by_workspace', properties: ['workspaceId', 'id'] }],
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
  uniques: [{ name: 'studio_versions_number_key', properties: ['projectId', 'version'] }],
  properties: {
    id: p.uuid().primary(),
    projectId: references(StudioProject, { name: 'studio_versions_project_id_fkey', onDelete: 'cascade' }),
    version: p.integer(),
    name: p.text(),
    data: p.json<ProjectData>(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
  },
})

export const studioProjects = table(StudioProject)
export const studioVersions = table(StudioVersion)
export type ProjectRow = Row<typeof StudioProject>
export type VersionRow = Row<typeof StudioVersion>
export const studioEntities = [StudioProject, StudioVersion]
