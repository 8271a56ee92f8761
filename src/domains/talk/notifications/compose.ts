import { SealedBox } from '../../../core/sealed-box.ts'
import type { Services } from '../../../core/services.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import type { Foundation } from '../../../foundation.ts'
import { Inbox } from './inbox.ts'
import { NotificationMails } from './mails.ts'
import { Devices } from './push/devices.ts'
import { WebPush } from './push/web-push.ts'
import { Spreader } from './spreader.ts'
import { Unsubscriptions } from './unsubscribe.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly notifications: ReturnType<typeof composeNotifications>['services']['notifications']
  }
}

/** Builds the services of the domain. */
export function composeNotifications(foundation: Foundation, { users }: Pick<Services, 'users'>) {
  const { clock, config, database: sql, secret } = foundation
  const unsubscriptions = new Unsubscriptions(foundation, users)
  const secrets = new SealedBox(secret, 'push')
  const outgoing = Outgoing.of(config.ALLOW_PRIVATE_ADDRESSES)
  const contact = `mailto:${/[^\s<>]+@[^\s<>]+/.exec(config.MAIL_FROM)?.[0] ?? 'crier@localhost'}`
  const web = new WebPush({ sql, clock, secrets, outgoing, contact })
  const notifications = {
    inbox: new Inbox(foundation),
    spreader: new Spreader(foundation),
    mails: new NotificationMails(foundation, unsubscriptions),
    unsubscriptions,
    devices: new Devices(foundation, { secrets, web }),
  }
  return { services: { notifications }, close: () => outgoing.close() }
}
