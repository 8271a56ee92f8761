import type { Texts } from '../../../language/texts.ts'
import { renderMail, type MailOptions } from '../../../mail/layout.ts'
import type { Mail } from '../../../mail/mailer.ts'
import { quotedName } from '../../../mail/user-text.ts'
import type { Rendered } from './render.ts'

/** A notification as a mail shows it. */
export interface MailedNotification extends Rendered {
  /** The name of the workspace that it is about. */
  readonly workspace?: string | undefined
  readonly link?: { readonly link: string; readonly label: string } | undefined
}

export interface NotificationMailContents {
  readonly to: string
  readonly texts: Texts
  /** At least one. Several are a digest. */
  readonly notifications: readonly MailedNotification[]
  readonly unsubscribe?: MailOptions['unsubscribe']
}

/** The mail about one notification, or about several. The text of many does not repeat what their title says. */
export function notificationMail({ texts, to, notifications, unsubscribe }: NotificationMailContents): Mail {
  const [first] = notifications
  const isOne = notifications.length === 1 && first !== undefined
  const subject = isOne ? first.title : texts.say('notification.digest', { count: notifications.length })
  const blocks = notifications.flatMap(({ link, text, title, workspace }) => [
    { heading: title },
    ...text,
    ...(workspace === undefined
      ? []
      : [texts.say('notification.workspace', { workspace: quotedName(texts, workspace) })]),
    ...(link === undefined ? [] : [link]),
  ])
  return renderMail(to, subject, [texts.say('mail.hello'), ...blocks], {
    texts,
    ...(unsubscribe !== undefined && { unsubscribe }),
  })
}
