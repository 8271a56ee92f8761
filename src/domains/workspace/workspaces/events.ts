import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Timestamp, Type } from '../../../core/schema.ts'
import { AI_DEFAULTS, WorkspaceState } from './schemas.ts'

const { userId, workspaceId } = EXAMPLE

export const workspaceUpdated = event({
  name: 'workspace.updated',
  summary: 'The workspace or its AI settings were changed',
  scope: 'team:read',
  description: '`data` is the complete new state of the workspace.',
  data: WorkspaceState,
  example: {
    _id: workspaceId,
    createdAt: EXAMPLE_TIME,
    updatedAt: EXAMPLE_TIME,
    name: 'Acme',
    timezone: 'Europe/Berlin',
    logo: null,
    aiSettings: AI_DEFAULTS,
    ownerId: userId,
    secondFactorRequiredAt: null,
    version: 2,
  },
})

export const workspaceDeleted = event({
  name: 'workspace.deleted',
  summary: 'The workspace was deleted and is no longer accessible',
  scope: 'team:read',
  data: Type.Object({
    workspaceId: Id,
    deletedAt: Timestamp,
    purgeAt: Type.String({ ...Timestamp, description: 'When its data is permanently deleted' }),
  }),
  example: { workspaceId, deletedAt: EXAMPLE_TIME, purgeAt: '2026-12-21T18:30:00.000Z' },
})
