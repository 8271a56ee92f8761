import { SealedBox } from '../../../tools/sealed-box.ts'
import type { Services } from '../../../core/services.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import type { Foundation } from '../../../foundation.ts'
import { Inbox } from './inbox.ts'
import { NotificationMails } from './mails.ts'
import { Apns } from './push/apns.ts'
import { Devices } from './push/devices.ts'
import { Fcm } from './push/fcm.ts'
import { WebPush } from './push/web-push.ts'
import { NotificationDispatcher } from './dispatcher.ts'
import { Unsubscriptions } from './unsubscribe.ts'
import { Screens } from './viewing.ts'

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
  const senders = { web, fcm: fcmOf(foundation, outgoing), apns: apnsOf(foundation) }
  const notifications = {
    inbox: new Inbox(foundation),
    dispatcher: new NotificationDispatcher(foundation),
    mails: new NotificationMails(foundation, unsubscriptions),
    unsubscriptions,
    screens: new Screens(foundation),
    devices: new Devices(foundation, { secrets, senders }),
  }
  const close = async () => {
    await notifications.screens.close()
    outgoing.close()
    senders.apns?.close()
  }
  return { services: { notifications }, close }
}

function fcmOf({ clock, config }: Foundation, outgoing: Outgoing): Fcm | undefined {
  const { FCM_SERVICE_ACCOUNT: account, FCM_URL } = config
  return account && new Fcm({ account, url: FCM_URL.replace(/\/$/, ''), clock, outgoing })
}

function apnsOf({ clock, config }: Foundation): Apns | undefined {
  const { APNS_KEY: key, APNS_KEY_ID: keyId, APNS_TEAM_ID: teamId, APNS_TOPIC: topic, APNS_URL: url } = config
  if (key === undefined || keyId === undefined || teamId === undefined || topic === undefined) return undefined
  return new Apns({ key, keyId, teamId, topic, url, clock })
}
