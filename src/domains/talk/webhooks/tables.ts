import { defineEntity, p } from '@mikro-orm/postgresql'
import type { Scope } from '../../../core/scope.ts'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { DeliveryKind, DeliveryStatus, DisabledReason, WebhookStatus } from './states.ts'

/** An endpoint that gets events, and how far its delivery has come. */
export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  indexes: [
    { name: 'webhooks_by_creator', properties: ['createdBy', 'id'] },
    { name: 'webhooks_by_workspace', properties: ['workspaceId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'webhooks_workspace_id_fkey', onDelete: 'cascade' }),
    url: p.text(),
    description: p.text(),
    /** Names of events and wildcards. */
    events: p.array().columnType('text[]'),
    ordered: p.boolean(),
    status: p.text().$type<WebhookStatus>(),
    disabledReason: p.text().$type<DisabledReason>().nullable(),
    secretSealed: p.text(),
    previousSecretSealed: p.text().nullable(),
    previousSecretUntil: timestamp().nullable(),
    createdBy: p.uuid(),
    /** The member whose rights decide which events are sent. */
    readerId: p.uuid(),
    /** The scopes of the limited API key that set the reader. Null without such a limit. */
    readerScopes: p
      .array<Scope>((text) => text as Scope)
      .columnType('text[]')
      .nullable(),
    version: p.integer(),
    /** The last event that was sent, passed over, or stored as a pending delivery. */
    cursor: p.bigint('number'),
    /** Attempts in a row that have failed. */
    failures: p.integer().default(0),
    failingSince: timestamp().nullable(),
    /** No attempt before this time. */
    blockedUntil: timestamp().nullable(),
    /** Whether the last reply took long. Its deliveries then run in the queue of retries. */
    slow: p.boolean().default(false),
    /** The job that sends to this endpoint, and until when nobody else may. */
    leaseHolder: p.text().nullable(),
    leaseUntil: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A message to an endpoint, with its last attempt. Deleted after 30 days. */
export const WebhookDelivery = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_deliveries',
  indexes: [
    { name: 'webhook_deliveries_by_webhook', properties: ['webhookId', 'id'] },
    { name: 'webhook_deliveries_by_age', properties: ['createdAt'] },
    {
      name: 'webhook_deliveries_pending',
      expression:
        "create index webhook_deliveries_pending on webhook_deliveries (webhook_id, seq) where status = 'pending'",
    },
    {
      name: 'webhook_deliveries_by_workspace',
      expression: 'create index webhook_deliveries_by_workspace on webhook_deliveries (workspace_id)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'webhook_deliveries_workspace_id_fkey', onDelete: 'cascade' }),
    /** Without a foreign key: a turn that deletes a webhook must not wait for the deletion of its deliveries. */
    webhookId: p.uuid(),
    kind: p.text().$type<DeliveryKind>(),
    /** 0 for a test. */
    seq: p.bigint('number'),
    type: p.text(),
    /** The value of `webhook-id`. */
    messageId: p.text(),
    /** The whole body, for further attempts. */
    payload: p.text(),
    /** Whether the event is of a private channel or for one member. */
    personal: p.boolean(),
    status: p.text().$type<DeliveryStatus>(),
    attempts: p.integer(),
    nextAttemptAt: timestamp().nullable(),
    /** The headers of the last attempt. */
    requestHeaders: p.json<Readonly<Record<string, string>>>().nullable(),
    httpStatus: p.integer().nullable(),
    responseHeaders: p.json<Readonly<Record<string, string>>>().nullable(),
    responseBody: p.text().nullable(),
    durationMs: p.integer().nullable(),
    error: p.text().nullable(),
    deliveredAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const webhooks = table(Webhook)
export const webhookDeliveries = table(WebhookDelivery)
export type WebhookRow = Row<typeof Webhook>
export type DeliveryRow = Row<typeof WebhookDelivery>
