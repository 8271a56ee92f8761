import { domain } from '../../../domain.ts'
import { composeWebhooks } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { Webhook, WebhookDelivery } from './tables.ts'
import * as turns from './turns.ts'
import { personal } from './personal-data.ts'

export const webhooks = domain({
  personal,
  name: 'webhooks',
  about: 'Events of a workspace, sent to your own servers',
  operations,
  events,
  notifications,
  jobs,
  turns: Object.values(turns),
  entities: [Webhook, WebhookDelivery],
  resources: ['webhooks'],
  compose: composeWebhooks,
})
