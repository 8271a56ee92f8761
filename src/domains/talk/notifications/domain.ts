import { domain } from '../../../domain.ts'
import { composeNotifications } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { Notification, NotificationBox, NotificationMail } from './tables.ts'

export const notifications = domain({
  name: 'notifications',
  about: 'What you are told about events of your workspaces and your account',
  operations,
  events,
  jobs,
  entities: [Notification, NotificationBox, NotificationMail],
  compose: composeNotifications,
})
