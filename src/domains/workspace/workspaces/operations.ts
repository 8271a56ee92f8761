import { Conflict, Forbidden, PlanLimit, PreconditionFailed, SearchTooBroad } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation } from '../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../core/page.ts'
import { created, list, ok } from '../../../core/reply.ts'
import { Envelope, ListOf } from '../../../core/schema.ts'
import {
  AiSettingsChange,
  AuditEntry,
  AuditQuery,
  DeleteConfirmation,
  DeletedWorkspace,
  NewWorkspace,
  SyncPage,
  SyncQuery,
  WorkspaceChange,
  WorkspacePath,
  WorkspaceView,
} from './schemas.ts'

const inPath = { workspaceId: EXAMPLE.workspaceId }

export const listWorkspaces = operation({
  route: 'GET /api/workspaces',
  summary: 'List your workspaces',
  access: 'user',
  limitedKeys: true,
  query: PageQuery,
  returns: { 200: ListOf(WorkspaceView) },
  example: { query: { limit: 30 } },
  handle: async ({ caller, query, workspaces }) =>
    list('Workspaces', await workspaces.service.list(caller, pageRequest(query))),
})

export const createWorkspace = operation({
  route: 'POST /api/workspaces',
  summary: 'Create a workspace',
  description: 'You become its owner. Its usage counts against your plan.',
  access: 'user',
  body: NewWorkspace,
  returns: { 201: Envelope(WorkspaceView) },
  errors: [PlanLimit],
  etag: true,
  example: { body: { name: 'Acme', timezone: 'Europe/Berlin', logo: 'https://acme.example/logo.png' } },
  handle: async (context) =>
    created('Workspace created', await context.workspaces.service.create(context.caller, context.body, context)),
})

export const getWorkspace = operation({
  route: 'GET /api/workspaces/{workspaceId}',
  summary: 'Get a workspace',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  path: WorkspacePath,
  returns: { 200: Envelope(WorkspaceView) },
  etag: true,
  example: { path: inPath },
  handle: async ({ member, workspaces }) => ok('Workspace', await workspaces.service.get(member)),
})

export const updateWorkspace = operation({
  route: 'PATCH /api/workspaces/{workspaceId}',
  summary: 'Update a workspace',
  description:
    'Only an owner with a second factor can set `secondFactorRequiredAt`. A time in the past takes effect at once.',
  access: 'workspace:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: WorkspacePath,
  body: WorkspaceChange,
  returns: { 200: Envelope(WorkspaceView) },
  errors: [Conflict, PreconditionFailed],
  etag: true,
  example: { path: inPath, body: { name: 'Acme Studios', logo: null } },
  handle: async ({ body, caller, ifMatch, member, turn, workspaces }) =>
    ok('Workspace updated', await workspaces.service.update(turn, { caller, member }, body, ifMatch)),
})

export const deleteWorkspace = operation({
  route: 'DELETE /api/workspaces/{workspaceId}',
  summary: 'Delete a workspace',
  description:
    'Only owners can delete a workspace, and must send its name as a confirmation. Scheduled work is cancelled, and the workspace is no longer accessible. After 30 days all its data is permanently deleted.',
  access: 'workspace:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: WorkspacePath,
  body: DeleteConfirmation,
  returns: { 200: Envelope(DeletedWorkspace) },
  errors: [Forbidden, PreconditionFailed],
  example: { path: inPath, body: { name: 'Acme' } },
  handle: async ({ turn, member, body, ifMatch, workspaces }) =>
    ok('Workspace deleted', await workspaces.service.delete(turn, member, body.name, ifMatch)),
})

export const updateAiSettings = operation({
  route: 'PATCH /api/workspaces/{workspaceId}/ai-settings',
  summary: 'Update the AI settings of a workspace',
  description:
    'They apply to AI jobs that are requested from now on. `autoPublishModelText` decides whether API keys publish texts of models without a person. What was scheduled by this rule stays scheduled when it is switched off.',
  access: 'workspace:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: WorkspacePath,
  body: AiSettingsChange,
  returns: { 200: Envelope(WorkspaceView) },
  errors: [PreconditionFailed],
  etag: true,
  example: {
    path: inPath,
    body: {
      tone: 'dry and short',
      language: 'en-GB',
      hashtagCount: 3,
      bannedWords: ['synergy'],
      emoji: 'none',
      model: null,
      creditLimitPerMonth: 200,
      autoPublishModelText: false,
    },
  },
  handle: async ({ turn, member, body, ifMatch, workspaces }) =>
    ok('AI settings updated', await workspaces.service.updateAi(turn, member, body, ifMatch)),
})

export const listAuditLog = operation({
  route: 'GET /api/workspaces/{workspaceId}/audit-log',
  summary: 'List the audit log',
  description: 'Newest first. `from` is inclusive, `to` is exclusive.',
  access: 'workspace:manage',
  workspace: from.path('workspaceId'),
  path: WorkspacePath,
  query: AuditQuery,
  returns: { 200: ListOf(AuditEntry) },
  errors: [SearchTooBroad],
  example: { path: inPath, query: { action: ['updateWorkspace'], from: '2026-11-01T00:00:00Z' } },
  handle: async ({ member, query, workspaces }) =>
    list('Audit log', await workspaces.auditLog.list(member.workspaceId, query)),
})

export const syncEvents = operation({
  route: 'GET /api/workspaces/{workspaceId}/events',
  socket: 'resume',
  summary: 'List missed events',
  description:
    'Events after the sequence number `after` that you can see, in order. Continue with `after` of the reply while `hasMore` is true.',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  path: WorkspacePath,
  query: SyncQuery,
  returns: { 200: Envelope(SyncPage) },
  example: { path: inPath, query: { after: 0, limit: 50 } },
  handle: async ({ member, query, workspaces }) =>
    ok('Events', await workspaces.eventLog.after(member, { ...query, after: query.after ?? 0 }, query.limit ?? 30)),
})
