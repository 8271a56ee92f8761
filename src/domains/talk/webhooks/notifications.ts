import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const webhookDisabledNotification = notificationType({
  name: 'webhook.disabled',
  kind: 'webhookDisabled',
  summary: 'A webhook was disabled by Crier. To the owners, and who created it',
  scope: 'team:read',
  data: Type.Object({ webhookId: Type.String(), host: Type.String(), cause: Type.String() }),
  example: { webhookId: EXAMPLE.webhookId, host: 'hooks.example.com', cause: 'failing' },
  resource: ({ webhookId }) => ({ kind: 'webhook', id: webhookId }),
})
