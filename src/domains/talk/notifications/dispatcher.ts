import { HOUR } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { NotificationType } from '../../../core/notification.ts'
import type { Transaction } from '../../../core/sql.ts'
import { increment } from '../../../db/increment.ts'
import type { Foundation } from '../../../foundation.ts'
import { findReaders, mailTime, quietUntil, type Reader } from '../../identity/users/index.ts'
import { findMemberships, mergedScopes } from '../../workspace/workspaces/index.ts'
import { lockBox, unreadOf } from './box.ts'
import { notificationCreated, notificationUpdated } from './events.ts'
import type { PersonalNotice } from './inbox.ts'
import { mailNotifications, pushNotification } from './jobs.ts'
import { pushDevices } from './push/tables.ts'
import { notificationMails, notifications, type NotificationFields, type NotificationRow } from './tables.ts'
import { isViewing } from './viewing.ts'
import { ACTORS, actorsOf, viewOf } from './views.ts'

/** A group that was mailed gets another mail after this time at the earliest. */
const MAIL_AGAIN_MS = HOUR

/** What has happened, and the users to notify. */
export interface Happened {
  readonly type: string
  readonly userIds: readonly string[]
  readonly actorId: string | null
  readonly data: NotificationFields
  readonly workspaceId: string | undefined
}

/** Notifies users by their settings: in the app, by mail and on their devices. */
export class NotificationDispatcher {
  readonly #foundation: Foundation

  constructor(foundation: Foundation) {
    this.#foundation = foundation
  }

  /** @returns the events to announce after the commit */
  async dispatch(tx: Transaction, happened: Happened): Promise<PersonalNotice[]> {
    const type = this.#foundation.declared.notificationTypes.get(happened.type)
    // A job of a newer version.
    if (type === undefined) return []
    const notices: PersonalNotice[] = []
    // In the order of their ids, so that two jobs never wait for each other.
    for (const reader of await this.#readers(tx, type, happened)) {
      const notice = await this.#tell(tx, reader, type, happened)
      if (notice !== undefined) notices.push(notice)
    }
    return notices
  }

  async #readers(tx: Transaction, { scope }: NotificationType, { userIds, workspaceId }: Happened): Promise<Reader[]> {
    if (scope === undefined) return findReaders(tx, userIds)
    if (workspaceId === undefined) return []
    const members = await findMemberships(tx, { workspaceId, userIds })
    const readers = members.filter((member) => mergedScopes(member).has(scope))
    return findReaders(
      tx,
      readers.map(({ userId }) => userId),
    )
  }

  async #tell(
    tx: Transaction,
    reader: Reader,
    type: NotificationType,
    happened: Happened,
  ): Promise<PersonalNotice | undefined> {
    const wanted = reader.notifications.kinds[type.kind]
    const email = type.ownMail !== true && (wanted.email || type.mandatory === true)
    if (!wanted.inApp && !email && !wanted.push) return undefined
    if (await type.isSeen?.(tx, reader.id, happened.data)) return undefined
    if (await this.#isViewing(tx, reader, type, happened)) return undefined
    await lockBox(tx, reader.id)
    const { isNew, row } = await this.#write(tx, reader, type, happened, wanted.inApp)
    if (email) await this.#mail(tx, reader, type, row)
    if (wanted.push) await this.#push(tx, reader, row)
    if (!row.inApp) return undefined
    const notification = viewOf(row, type, await actorsOf(tx, [row]), reader.language)
    const data = { ...(await unreadOf(tx, reader.id)), notification }
    return { userId: reader.id, type: isNew ? notificationCreated : notificationUpdated, data }
  }

  /** Whether the reader is viewing the resource of the notification. Mandatory notifications are always sent. */
  async #isViewing(tx: Transaction, { id }: Reader, type: NotificationType, { data }: Happened): Promise<boolean> {
    const about = type.mandatory === true ? undefined : type.resource?.(data)
    if (about === undefined) return false
    return isViewing(tx, id, { kind: about.kind, resourceId: about.id }, this.#foundation.clock.now())
  }

  /** Adds the event to the open notification of its group, or to a new one. */
  async #write(
    tx: Transaction,
    { id: userId }: Reader,
    type: NotificationType,
    { actorId, data, workspaceId }: Happened,
    inApp: boolean,
  ): Promise<{ row: NotificationRow; isNew: boolean }> {
    const now = this.#foundation.clock.now()
    const at = new Date(now).toISOString()
    const groupKey = type.group === undefined ? null : `${type.name} ${workspaceId ?? ''} ${type.group(data)}`
    const open = groupKey === null ? undefined : await notifications.first(tx, { userId, groupKey, readAt: null })
    if (open !== undefined) {
      const others = open.actorIds.filter((id) => id !== actorId)
      const actorIds = [...(actorId === null ? [] : [actorId]), ...others].slice(0, ACTORS)
      const changes = { actorIds, count: increment(), data, inApp, latestAt: at }
      const [row = open] = await notifications.updateReturning(tx, { id: open.id }, changes)
      return { row, isNew: !open.inApp }
    }
    const row: NotificationRow = {
      id: uuidv7(now),
      userId,
      workspaceId: workspaceId ?? null,
      type: type.name,
      kind: type.kind,
      data,
      groupKey,
      actorIds: actorId === null ? [] : [actorId],
      count: 1,
      inApp,
      readAt: null,
      mailedAt: null,
      createdAt: at,
      latestAt: at,
    }
    await notifications.insert(tx, row)
    return { row, isNew: true }
  }

  /**
   * Sends one message to each device. In quiet hours, messages wait for the end, and each device then gets one message.
   */
  async #push(tx: Transaction, reader: Reader, { id: notificationId }: NotificationRow): Promise<void> {
    const { clock, jobs } = this.#foundation
    const now = clock.now()
    const at = quietUntil(reader.notifications.quietHours, reader.timezone, now)
    const held = at > now
    for (const { id: deviceId } of await pushDevices.find(tx, { userId: reader.id }, { columns: ['id'] })) {
      const options = held ? { runAt: new Date(at), key: `${deviceId} ${at}` } : {}
      await jobs.add(tx, pushNotification, { deviceId, notificationId, held }, options)
    }
  }

  async #mail(tx: Transaction, reader: Reader, type: NotificationType, row: NotificationRow): Promise<void> {
    const { clock, jobs } = this.#foundation
    const now = clock.now()
    const again = row.mailedAt === null ? now : Date.parse(row.mailedAt) + MAIL_AGAIN_MS
    const due = type.mandatory ? now : Math.max(mailTime(reader, now), again)
    const batch = due <= now ? row.id : new Date(due).toISOString()
    const waiting = { notificationId: row.id, userId: reader.id, batch, createdAt: new Date(now) }
    if ((await notificationMails.insert(tx, waiting, { ignoreConflict: true })) === 0) return
    const runAt = new Date(due)
    await notifications.update(tx, { id: row.id }, { mailedAt: runAt })
    await jobs.add(tx, mailNotifications, { userId: reader.id, batch }, { runAt, key: `${reader.id} ${batch}` })
  }
}
