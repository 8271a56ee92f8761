import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const retentionShortensNotification = notificationType({
  name: 'analyticsRetention.shortened',
  kind: 'billing',
  summary: 'The plan keeps figures of platforms for fewer days, from a day on. To who pays for the workspace',
  data: Type.Object({
    workspaceId: Type.String(),
    workspace: Type.String(),
    days: Type.Integer(),
    nextDays: Type.Integer(),
    until: Type.String(),
  }),
  example: { workspaceId: EXAMPLE.workspaceId, workspace: 'Acme', days: 800, nextDays: 90, until: '2026-12-23' },
  resource: ({ workspaceId }) => ({ kind: 'workspace', id: workspaceId }),
})
