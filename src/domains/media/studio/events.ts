import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type } from '../../../core/schema.ts'
import { ProjectSummary, StudioRender } from './schemas.ts'

const { assetId, jobId, studioProjectId, studioRenderId, userId, workspaceId } = EXAMPLE
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

const render = {
  _id: studioRenderId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId,
  studioProjectId,
  version: 1,
  format: 'png' as const,
  pageNumbers: [1],
  folderId: null,
  status: 'done' as const,
  progress: 100,
  jobId,
  assetIds: [assetId],
  error: null,
  createdBy: userId,
  finishedAt: EXAMPLE_TIME,
}

export const studioRenderCreated = event({
  name: 'studioRender.created',
  summary: 'A rendering of a studio project was requested',
  description: 'While it runs, `job.progress` reports its progress.',
  scope: 'studio:read',
  data: StudioRender,
  example: { ...render, status: 'queued', progress: 0, assetIds: [], finishedAt: null },
})

export const studioRenderUpdated = event({
  name: 'studioRender.updated',
  summary: 'A rendering of a studio project is done, has failed or was cancelled',
  scope: 'studio:read',
  data: StudioRender,
  example: render,
})
