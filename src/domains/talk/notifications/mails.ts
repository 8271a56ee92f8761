import type { Sql, Transaction } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { textsFor } from '../../../language/texts.ts'
import { sendMail } from '../../../mail/jobs.ts'
import { findReaders, type Reader } from '../../identity/users/index.ts'
import { findNames } from '../../workspace/workspaces/index.ts'
import { lockBox } from './box.ts'
import { notificationMail } from './notification-mail.ts'
import { notificationMails, notifications, type NotificationRow } from './tables.ts'
import type { Unsubscriptions } from './unsubscribe.ts'
import { actorsOf, textsOf } from './views.ts'

/** Writes mails about notifications, each of which is then one job that sends it. */
export class NotificationMails {
  readonly #foundation: Foundation
  readonly #unsubscriptions: Unsubscriptions

  constructor(foundation: Foundation, unsubscriptions: Unsubscriptions) {
    this.#foundation = foundation
    this.#unsubscriptions = unsubscriptions
  }

  /** Writes the mail of a batch, about what the user still wants to hear of and has not read. */
  async write(tx: Transaction, { batch, userId }: { userId: string; batch: string }): Promise<void> {
    const [reader] = await findReaders(tx, [userId])
    if (reader === undefined) return
    // A transaction that adds to the batch may not have committed yet.
    await lockBox(tx, userId)
    const waiting = await notificationMails.deleteReturning(tx, { userId, batch }, ['notificationId'])
    const ids = waiting.map(({ notificationId }) => notificationId)
    const rows = await notifications.find(tx, { id: anyOf(ids), readAt: null }, { orderBy: ['id asc'] })
    const wanted = rows.filter((row) => this.#isWanted(reader, row))
    // Notifications that are not shown in the app count as read now. A later event of the group creates a new one.
    const unseen = rows.filter(({ inApp }) => !inApp).map(({ id }) => id)
    const readAt = new Date(this.#foundation.clock.now())
    if (unseen.length > 0) await notifications.update(tx, { id: anyOf(unseen) }, { readAt })
    if (wanted.length > 0) await this.#send(tx, reader, wanted)
  }

  #isWanted({ notifications: { kinds } }: Reader, { kind, type }: NotificationRow): boolean {
    const declared = this.#foundation.declared.notificationTypes.get(type)
    return declared !== undefined && (kinds[kind].email || declared.mandatory === true)
  }

  async #send(tx: Transaction, reader: Reader, rows: readonly NotificationRow[]): Promise<void> {
    const { config, declared, jobs } = this.#foundation
    const actors = await actorsOf(tx, rows)
    const workspaces = await namesOf(tx, rows)
    const texts = textsFor(reader.language)
    const notifications = rows.map((row) => {
      const page = declared.notificationTypes.get(row.type)?.page
      return {
        ...textsOf(row, actors, reader.language),
        workspace: row.workspaceId === null ? undefined : workspaces.get(row.workspaceId),
        link: page && { link: `${config.PUBLIC_URL}${page}`, label: texts.find(`${row.type}.link`) },
      }
    })
    const mandatory = rows.some(({ type }) => declared.notificationTypes.get(type)?.mandatory === true)
    const kinds = [...new Set(rows.map(({ kind }) => kind))]
    const unsubscribe = mandatory ? {} : { unsubscribe: this.#unsubscriptions.linkFor(reader, kinds) }
    const mail = notificationMail({ to: reader.email, texts, notifications, ...unsubscribe })
    await jobs.add(tx, sendMail, { ...mail })
  }
}

async function namesOf(sql: Sql, rows: readonly NotificationRow[]): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(rows.flatMap(({ workspaceId }) => workspaceId ?? []))]
  return ids.length === 0 ? new Map() : findNames(sql, ids)
}
