import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  Sequence,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { DeliveryKindSchema, DeliveryStatusSchema, DisabledReasonSchema, WebhookStatusSchema } from './states.ts'

export const WebhookPath = Input({ id: Id })
export const DeliveryPath = Input({ id: Id, deliveryId: Id })
export const WebhookQuery = Input({ workspaceId: Id, ...pageFields })
export const DeliveryQuery = Input({ ...pageFields, status: Several(DeliveryStatusSchema) })

export const WebhookView = named(
  'Webhook',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    url: Type.String(),
    description: Type.String(),
    events: Type.Array(Type.String(), { description: 'Names of events, and wildcards such as `post.*` or `*`' }),
    ordered: Type.Boolean({ description: 'Whether a message is sent only when the one before it was delivered' }),
    status: WebhookStatusSchema,
    disabledReason: Nullable(DisabledReasonSchema),
    failingSince: Nullable(Timestamp),
    nextAttemptAt: Nullable(
      Type.String({ format: 'date-time', description: 'After failures, nothing is sent before this time' }),
    ),
    previousSecretExpiresAt: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Until then, messages are also signed with the previous secret',
      }),
    ),
    lastSeq: Sequence({ description: 'Events up to this number were sent, were not wanted, or wait as deliveries' }),
    readerId: Type.String({
      format: 'uuid',
      description:
        'The member whose rights decide which events are sent: the one who created the webhook, or last changed its URL, events or secret',
    }),
    createdBy: Id,
    version: Type.Integer(),
  }),
)
export type WebhookData = Static<typeof WebhookView>

const secret = Type.String({
  description: 'Shown only in this reply. `whsec_` and the key in base64, as Standard Webhooks libraries take it',
})

export const WebhookWithSecret = Type.Object({ ...WebhookView.properties, secret })
export const ChangedWebhook = Type.Object({ ...WebhookView.properties, secret: Type.Optional(secret) })
export type ChangedWebhookData = Static<typeof ChangedWebhook>

const fields = {
  url: Text(1, 2_048, { description: 'http or https. Redirects are not followed, and private addresses are refused' }),
  description: Text(0, 200),
  events: Type.Array(Text(1, 100), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description:
      '`*` for all events, `post.*` for those of a resource, or names of events. Events without a sequence number are only sent over sockets',
  }),
  ordered: Type.Boolean({
    default: true,
    description:
      'Sends a message only when the one before it was delivered. Without it, a message that fails delays no others',
  }),
}

export const NewWebhook = Input({
  workspaceId: Id,
  url: fields.url,
  events: fields.events,
  description: Type.Optional(fields.description),
  ordered: Type.Optional(fields.ordered),
})
export type NewWebhookData = Static<typeof NewWebhook>

export const WebhookChange = Input({
  url: Type.Optional(fields.url),
  description: Type.Optional(fields.description),
  events: Type.Optional(fields.events),
  ordered: Type.Optional(Type.Boolean()),
  status: Type.Optional(
    OneOf(['enabled', 'disabled'] as const, {
      description: '`enabled` sends the events from now on; replay those that were missed',
    }),
  ),
  rotateSecret: Type.Optional(Type.Boolean({ description: 'Makes a new secret, which the reply shows' })),
  keepSecretSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 604_800,
      default: 86_400,
      description: 'With `rotateSecret`: how long messages are signed with the previous secret, too',
    }),
  ),
})
export type WebhookChangeData = Static<typeof WebhookChange>

const headers = Type.Record(Type.String(), Type.String())
const cut = Type.Boolean({ description: 'Whether the body is longer than what is shown, 10,000 bytes' })

export const DeliveryView = named(
  'WebhookDelivery',
  Type.Object({
    ...ResourceBase,
    webhookId: Id,
    kind: DeliveryKindSchema,
    type: Type.String({ description: 'Name of the event' }),
    seq: Sequence({ description: 'Number of the event; 0 for a test' }),
    messageId: Type.String({ description: 'The value of `webhook-id`. It is the same in every attempt and replay' }),
    status: DeliveryStatusSchema,
    attemptsCount: Type.Integer(),
    nextAttemptAt: Nullable(Timestamp),
    deliveredAt: Nullable(Timestamp),
    error: Nullable(Type.String()),
    durationMs: Nullable(Type.Integer({ description: 'How long the last attempt took' })),
    request: Type.Object({
      headers: Nullable(headers),
      body: Nullable(
        Type.String({
          description: 'Null if you cannot read the event: it is of a private channel, or you lack its scope',
        }),
      ),
      isCut: cut,
    }),
    response: Nullable(
      Type.Object(
        { httpStatus: Type.Integer(), headers, body: Type.String(), isCut: cut },
        { description: 'The reply to the last attempt; null if there was none' },
      ),
    ),
  }),
)
export type DeliveryData = Static<typeof DeliveryView>

export const ReplaySpan = Input({
  after: Sequence({ description: 'Events with a greater number' }),
  until: Type.Optional(Sequence({ description: 'The last event; the newest when absent' })),
})
export type ReplaySpanData = Static<typeof ReplaySpan>

export const ReplayedSpan = Type.Object({
  deliveriesCount: Type.Integer({ description: 'How many deliveries were added' }),
  after: Sequence({ description: 'The last event that was looked at' }),
  hasMore: Type.Boolean({ description: 'Whether the span has more events. Ask again with this `after`' }),
})
