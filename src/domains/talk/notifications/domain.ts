import { domain } from '../../../domain.ts'
import { composeNotifications } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import * as pushOperations from './push/operations.ts'
import { PushDevice, PushKey } from './push/tables.ts'
import { Notification, NotificationBox, NotificationMail, UserScreen } from './tables.ts'
import * as unsubscribeOperations from './unsubscribe-operations.ts'

export const notifications = domain({
  name: 'notifications',
  about: 'What you are told about events of your workspaces and your account',
  operations: { ...operations, ...unsubscribeOperations, ...pushOperations },
  personal,
  events,
  jobs,
  entities: [Notification, NotificationBox, NotificationMail, PushDevice, PushKey, UserScreen],
  compose: composeNotifications,
})
