import type { Foundation } from '../../../foundation.ts'
import { Inbox } from './inbox.ts'
import { NotificationMails } from './mails.ts'
import { Spreader } from './spreader.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly notifications: ReturnType<typeof composeNotifications>['services']['notifications']
  }
}

/** Builds the services of the domain. */
export function composeNotifications(foundation: Foundation) {
  const notifications = {
    inbox: new Inbox(foundation),
    spreader: new Spreader(foundation),
    mails: new NotificationMails(foundation),
  }
  return { services: { notifications } }
}
