import { event } from '../core/event.ts'
import { DeletedWorkspace, WorkspaceState } from './schemas.ts'

export const workspaceUpdated = event({
  name: 'workspace.updated',
  summary: 'The workspace or its AI settings were changed',
  scope: 'team:read',
  data: WorkspaceState,
})

export const workspaceDeleted = event({
  name: 'workspace.deleted',
  summary: 'The workspace was deleted; it can no longer be reached',
  scope: 'team:read',
  data: DeletedWorkspace,
})
