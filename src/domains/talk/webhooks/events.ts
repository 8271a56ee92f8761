import { event } from '../../../core/event.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { Id, Nullable, Type } from '../../../core/schema.ts'
import { DisabledReasonSchema, WebhookStatusSchema } from './states.ts'

const { webhookId } = EXAMPLE

const data = Type.Object({
  webhookId: Id,
  url: Type.String({ description: 'Where events are sent' }),
  status: WebhookStatusSchema,
  disabledReason: Nullable(DisabledReasonSchema),
})

const example = {
  webhookId,
  url: 'https://hooks.example.com/crier',
  status: 'enabled' as const,
  disabledReason: null,
}

export const webhookCreated = event({
  name: 'webhook.created',
  summary: 'A webhook was created',
  scope: 'workspace:manage',
  data,
  example,
})

export const webhookUpdated = event({
  name: 'webhook.updated',
  summary: 'A webhook was changed, or was disabled because its deliveries fail',
  scope: 'workspace:manage',
  data,
  example: { ...example, status: 'disabled' as const, disabledReason: 'failing' as const },
})

export const webhookDeleted = event({
  name: 'webhook.deleted',
  summary: 'A webhook was deleted',
  scope: 'workspace:manage',
  data: Type.Object({ webhookId: Id }),
  example: { webhookId },
})
