import { Conflict, PlanLimit, PreconditionFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { accepted, created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import {
  ChangedWebhook,
  DeliveryPath,
  DeliveryQuery,
  DeliveryView,
  NewWebhook,
  ReplayedSpan,
  ReplaySpan,
  WebhookChange,
  WebhookPath,
  WebhookQuery,
  WebhookView,
  WebhookWithSecret,
} from './schemas.ts'

const { deliveryId, webhookId: id, workspaceId } = EXAMPLE

export const listWebhooks = operation({
  route: 'GET /api/webhooks',
  summary: 'List webhooks',
  access: 'workspace:manage',
  workspace: from.query('workspaceId'),
  query: WebhookQuery,
  returns: { 200: ListOf(WebhookView) },
  example: { query: { workspaceId } },
  handle: async ({ query, webhooks }) =>
    list('Webhooks', await webhooks.service.list(query.workspaceId, pageRequest(query))),
})

export const createWebhook = operation({
  route: 'POST /api/webhooks',
  summary: 'Create a webhook',
  description:
    'Events from now on are sent to the URL with POST, as the `webhooks` of this document describe. An endpoint gets the events that you can read; if your rights change, so does what it gets. Messages are signed as [Standard Webhooks](https://www.standardwebhooks.com) describes. The reply shows the secret, which is not shown again.\n\nAn endpoint has 10 seconds to reply with a status from 200 to 299. Otherwise the message is sent again, with growing delays, for three days. `Retry-After` of a reply is honored, up to 12 hours. Messages can arrive more than once, with the same `webhook-id`. After three days without success, or if the endpoint replies 410, the webhook is disabled, and the owners of the workspace get a mail.',
  access: 'workspace:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewWebhook,
  returns: { 201: Envelope(WebhookWithSecret) },
  errors: [PlanLimit, Conflict],
  example: { body: { workspaceId, url: 'https://hooks.example.com/crier', events: ['post.*', 'stream.updated'] } },
  handle: async ({ body, member, turn, webhooks }) =>
    created('Webhook created', await webhooks.service.create(turn, member, body)),
})

export const getWebhook = operation({
  route: 'GET /api/webhooks/{id}',
  summary: 'Get a webhook',
  access: 'workspace:manage',
  workspace: owner('webhooks'),
  path: WebhookPath,
  returns: { 200: Envelope(WebhookView) },
  etag: 'edits',
  example: { path: { id } },
  handle: async ({ member, path, webhooks }) => ok('Webhook', await webhooks.service.get(member.workspaceId, path.id)),
})

export const updateWebhook = operation({
  route: 'PATCH /api/webhooks/{id}',
  summary: 'Update a webhook',
  description:
    'The webhook receives events that its reader can read. A member who changes the URL, the events or the secret becomes the reader. `rotateSecret` creates a new secret. Until the previous secret expires, messages carry one signature for each secret. After a webhook is enabled again, it receives new events only.',
  access: 'workspace:manage',
  workspace: owner('webhooks'),
  turn: true,
  path: WebhookPath,
  body: WebhookChange,
  returns: { 200: Envelope(ChangedWebhook) },
  errors: [PreconditionFailed],
  etag: 'edits',
  example: { path: { id }, body: { events: ['*'], rotateSecret: true, keepSecretSeconds: 3_600 } },
  handle: async ({ body, ifMatch, member, path, turn, webhooks }) =>
    ok('Webhook changed', await webhooks.service.update(turn, member, path.id, body, ifMatch)),
})

export const deleteWebhook = operation({
  route: 'DELETE /api/webhooks/{id}',
  summary: 'Delete a webhook',
  access: 'workspace:manage',
  workspace: owner('webhooks'),
  turn: true,
  path: WebhookPath,
  returns: { 200: Done },
  errors: [PreconditionFailed],
  example: { path: { id } },
  handle: async ({ ifMatch, path, turn, webhooks }) => {
    await webhooks.service.delete(turn, path.id, ifMatch)
    return done('Webhook deleted')
  },
})

export const testWebhook = operation({
  route: 'POST /api/webhooks/{id}/test',
  summary: 'Send a test message to a webhook',
  description: 'Sends a signed message of the type `webhook.test` once, even if the webhook is disabled.',
  access: 'workspace:manage',
  workspace: owner('webhooks'),
  turn: true,
  path: WebhookPath,
  returns: { 202: Envelope(DeliveryView) },
  example: { path: { id } },
  handle: async ({ member, path, turn, webhooks }) =>
    accepted('The test will be sent', await webhooks.deliveries.test(turn, member, path.id)),
})

export const listWebhookDeliveries = operation({
  route: 'GET /api/webhooks/{id}/deliveries',
  summary: 'List the deliveries of a webhook',
  description: 'Newest first. They are kept for 30 days, with the request and the reply of the last attempt.',
  access: 'workspace:manage',
  workspace: owner('webhooks'),
  path: WebhookPath,
  query: DeliveryQuery,
  returns: { 200: ListOf(DeliveryView) },
  example: { path: { id }, query: { limit: 30 } },
  handle: async ({ member, path, query, webhooks }) =>
    list('Deliveries', await webhooks.deliveries.list(member, path.id, pageRequest(query), query.status)),
})

export const replayWebhookDelivery = operation({
  route: 'POST /api/webhooks/{id}/deliveries/{deliveryId}/replay',
  summary: 'Send a delivery again',
  description:
    'Sends the same message with the same `webhook-id`, as a new delivery. It does not wait for the order of events.',
  access: 'workspace:manage',
  workspace: owner('webhooks'),
  turn: true,
  path: DeliveryPath,
  returns: { 202: Envelope(DeliveryView) },
  errors: [Conflict],
  example: { path: { id, deliveryId } },
  handle: async ({ member, path, turn, webhooks }) =>
    accepted('The event will be sent again', await webhooks.deliveries.replay(turn, member, path.id, path.deliveryId)),
})

export const replayWebhookEvents = operation({
  route: 'POST /api/webhooks/{id}/replay',
  summary: 'Send the events of a span again',
  description:
    'Sends the events after the number `after` that the webhook is subscribed to, in order and with the same `webhook-id` as before. Up to 100 events are added at once: repeat the request with `after` of the reply while `hasMore` is true.',
  access: 'workspace:manage',
  workspace: owner('webhooks'),
  turn: true,
  path: WebhookPath,
  body: ReplaySpan,
  returns: { 202: Envelope(ReplayedSpan) },
  errors: [Conflict],
  example: { path: { id }, body: { after: 1_200, until: 1_250 } },
  handle: async ({ body, path, turn, webhooks }) =>
    accepted('The events will be sent again', await webhooks.deliveries.replaySpan(turn, path.id, body)),
})
