import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type } from '../../../core/schema.ts'
import { ProjectSummary } from './schemas.ts'

const { studioProjectId, userId, workspaceId } = EXAMPLE
const example = {
  _id: studioProjectId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId,
  name: 'Tour announcement',
  pageCount: 1,
  version: 1,
  createdBy: userId,
}

export const studioProjectCreated = event({
  name: 'studioProject.created',
  summary: 'A studio project was created',
  description: 'Without its content, which GET /api/studio/projects/{id} returns.',
  scope: 'studio:read',
  data: ProjectSummary,
  example,
})

export const studioProjectUpdated = event({
  name: 'studioProject.updated',
  summary: 'A studio project was saved',
  description: 'Without its content, which GET /api/studio/projects/{id} returns.',
  scope: 'studio:read',
  data: ProjectSummary,
  example: { ...example, version: 2 },
})

export const studioProjectDeleted = event({
  name: 'studioProject.deleted',
  summary: 'A studio project was deleted',
  scope: 'studio:read',
  data: Type.Object({ studioProjectId: { ...Id, description: 'The deleted project' } }),
  example: { studioProjectId },
})
