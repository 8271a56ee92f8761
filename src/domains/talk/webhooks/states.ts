import { States, type Static } from '../../../core/schema.ts'

export const WebhookStatusSchema = States('WebhookStatus', 'Whether a webhook gets events.', {
  enabled: 'Events are sent',
  disabled: 'No events are sent. `disabledReason` says why',
})
export type WebhookStatus = Static<typeof WebhookStatusSchema>

export const DisabledReasonSchema = States('WebhookDisabledReason', 'Why a webhook is disabled.', {
  by_member: 'A member has disabled it',
  failing: 'No delivery has succeeded for three days',
  gone: 'The endpoint replied 410 Gone',
  reader_left: 'The member whose rights decide which events are sent has left the workspace',
})
export type DisabledReason = Static<typeof DisabledReasonSchema>

export const DeliveryKindSchema = States('WebhookDeliveryKind', 'Why a message was sent.', {
  event: 'An event has happened',
  replay: 'A member has asked for the event again',
  test: 'A member has sent a test. It is tried once',
})
export type DeliveryKind = Static<typeof DeliveryKindSchema>

export const DeliveryStatusSchema = States('WebhookDeliveryStatus', 'How a delivery ended, if it has.', {
  pending: 'There will be another attempt at `nextAttemptAt`',
  delivered: 'The endpoint replied with a status from 200 to 299',
  failed: 'It was not delivered, and there are no more attempts',
})
export type DeliveryStatus = Static<typeof DeliveryStatusSchema>
