import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const webhookDisabledNotification = notificationType({
  name: 'webhook.disabled',
  kind: 'webhookDisabled',
  summary: 'Crier has disabled a webhook. Sent to the owners of the workspace and to the member who created it',
  scope: 'team:read',
  data: Type.Object({ webhookId: Type.String(), host: Type.String(), cause: Type.String() }),
  example: { webhookId: EXAMPLE.webhookId, host: 'hooks.example.com', cause: 'failing' },
  resource: ({ webhookId }) => ({ kind: 'webhook', id: webhookId }),
})
