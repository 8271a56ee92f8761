import { sql as raw } from 'kysely'
import { DAY } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { EventData, EventType } from '../../../core/event.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import { greaterThan } from '../../../db/condition.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import type { Foundation } from '../../../foundation.ts'
import { publishToUser } from '../../../coordination/personal.ts'
import { findReaders } from '../../identity/users/index.ts'
import { lockBox, unreadOf } from './box.ts'
import { notificationsRead } from './events.ts'
import type { NotificationData, NotificationFilter, ReadAllData, UnreadData } from './schemas.ts'
import { notificationBoxes, notifications, type NotificationRow } from './tables.ts'
import { actorsOf, viewOf } from './views.ts'

const KEPT_DAYS = 90
/** Notifications that a user keeps. */
const MAX = 1_000
/** Rows that one statement deletes. */
const ROWS = 250
/** Users whose notifications one statement counts. */
const USERS = 50

/** Deletes old notifications. The limit bounds the time of the statement. */
const pruneOld = query({ notifications }, (db, $: { before: string }) =>
  db.deleteFrom('notifications').where(
    raw<boolean>`ctid = any(array(${db
      .selectFrom('notifications')
      .select(raw`ctid`.as('place'))
      .where('latestAt', '<', $.before)
      .orderBy('latestAt')
      .limit(raw.lit(ROWS))}))`,
  ),
)

/** The newest notification of each user that is too much. */
const firstTooMuch = query({ notifications }, (db, $: { userIds: readonly string[] }) =>
  db
    .selectFrom(raw<{ id: string }>`unnest(${$.userIds}::uuid[])`.as<'u'>(raw`u (id)`))
    .crossJoinLateral((from) =>
      from
        .selectFrom('notifications')
        .select(['userId', 'latestAt', 'id'])
        .whereRef('userId', '=', 'u.id')
        .orderBy('latestAt', 'desc')
        .orderBy('id', 'desc')
        .offset(raw.lit(MAX))
        .limit(raw.lit(1))
        .as('n'),
    )
    .select(['n.userId', raw<string>`n.latest_at::text`.as('latestAt'), 'n.id']),
)

/** Deletes a notification of a user, and older ones. */
const pruneFrom = query({ notifications }, (db, $: { userId: string; latestAt: string; id: string }) =>
  db.deleteFrom('notifications').where('id', 'in', (e) =>
    e
      .selectFrom('notifications')
      .select('id')
      .where('userId', '=', $.userId)
      .where(raw<boolean>`(latest_at, id) <= (${$.latestAt}::text::timestamptz, ${$.id}::uuid)`)
      .orderBy('latestAt', 'desc')
      .orderBy('id', 'desc')
      .limit(raw.lit(ROWS)),
  ),
)

interface Reading {
  readonly userId: string
  readonly at: string
  readonly workspaceId?: string | undefined
  readonly before?: Date | undefined
}

const markRead = query({ notifications }, (db, $: Reading) => {
  let unread = db
    .updateTable('notifications')
    .set({ readAt: $.at })
    .where('userId', '=', $.userId)
    // A literal, so that the index of unread notifications serves it.
    .where('inApp', '=', raw.lit(true))
    .where('readAt', 'is', null)
  if ($.workspaceId !== undefined) unread = unread.where('workspaceId', '=', $.workspaceId)
  if ($.before !== undefined) unread = unread.where('latestAt', '<', raw<string>`${$.before}`)
  return unread
})

const COLUMNS = [
  'id',
  'userId',
  'workspaceId',
  'type',
  'kind',
  'data',
  'groupKey',
  'actorIds',
  'count',
  'inApp',
  'readAt',
  'mailedAt',
  'createdAt',
  'latestAt',
] as const satisfies readonly (keyof NotificationRow)[]

interface Wanted {
  readonly userId: string
  readonly limit: number
  readonly unread?: true | undefined
  readonly read?: true | undefined
  readonly kind?: Values<string> | undefined
  readonly workspaceId?: Values<string> | undefined
  readonly at?: string | undefined
  readonly id?: string | undefined
}

const listed = query({ notifications }, (db, $: Wanted) => {
  let found = db.selectFrom('notifications').select(COLUMNS).where('userId', '=', $.userId).where('inApp', '=', true)
  if ($.unread !== undefined) found = found.where('readAt', 'is', null)
  if ($.read !== undefined) found = found.where('readAt', 'is not', null)
  if ($.kind !== undefined) found = found.where(isOneOf('kind', $.kind))
  if ($.workspaceId !== undefined) found = found.where(isOneOf('workspaceId', $.workspaceId))
  if ($.at !== undefined) {
    found = found.where(raw<boolean>`(latest_at, id) < (${$.at}::timestamptz, ${$.id}::uuid)`)
  }
  return found.orderBy('latestAt', 'desc').orderBy('id', 'desc').limit($.limit)
})

/** An event for one user. */
export interface PersonalNotice {
  readonly userId: string
  readonly type: EventType
  readonly data: unknown
}

/** What users see of their notifications. */
export class Inbox {
  readonly #foundation: Foundation

  constructor(foundation: Foundation) {
    this.#foundation = foundation
  }

  /** The newest first, with the unread count. */
  async list(
    userId: string,
    page: PageRequest,
    { kind, status, workspaceId }: NotificationFilter,
  ): Promise<UnreadData & { page: PageResult<NotificationData> }> {
    const { database: sql, declared } = this.#foundation
    const [reader] = await findReaders(sql, [userId])
    // Both are the same as no filter.
    const [state, otherState] = new Set(status)
    const rows = await listed.rows(sql, {
      userId,
      limit: page.limit + 1,
      kind: values(kind),
      workspaceId: values(workspaceId),
      ...(state !== undefined && otherState === undefined && { [state]: true as const }),
      ...(page.after && { at: page.after.createdAt, id: page.after.id }),
    })
    const actors = await actorsOf(sql, rows)
    const language = reader?.language ?? 'en'
    const result = pageOf(
      rows,
      page.limit,
      ({ id, latestAt }) => ({ createdAt: latestAt, id }),
      (row) => viewOf(row, declared.notificationTypes.get(row.type), actors, language),
    )
    return { page: result, ...(await unreadOf(sql, userId)) }
  }

  unread(userId: string): Promise<UnreadData> {
    return unreadOf(this.#foundation.database, userId)
  }

  /** Reading again changes nothing. @throws AppError not_found */
  async read(userId: string, id: string): Promise<UnreadData> {
    const { clock, database } = this.#foundation
    const at = new Date(clock.now()).toISOString()
    const { changed, unread } = await database.transaction(async (tx) => {
      const row = await notifications.first(tx, { id, userId, inApp: true }, { columns: ['readAt'] })
      if (row === undefined) throw NotFound()
      if (row.readAt !== null) return { changed: 0, unread: await unreadOf(tx, userId) }
      await lockBox(tx, userId)
      const updated = await notifications.update(tx, { id, userId, readAt: null }, { readAt: at })
      return { changed: updated, unread: await unreadOf(tx, userId) }
    })
    if (changed > 0) this.#announceRead(userId, unread, id, at)
    return unread
  }

  async readAll(userId: string, { upTo, workspaceId }: ReadAllData): Promise<UnreadData> {
    const { clock, database } = this.#foundation
    const at = new Date(clock.now()).toISOString()
    const latest = instant(upTo)
    // Replies give milliseconds, and the database has microseconds.
    const before = latest === undefined ? undefined : new Date(latest.getTime() + 1)
    const { changed, unread } = await database.transaction(async (tx) => {
      await lockBox(tx, userId)
      const updated = await markRead.run(tx, { userId, at, workspaceId, before })
      return { changed: updated, unread: await unreadOf(tx, userId) }
    })
    if (changed > 0) this.#announceRead(userId, unread, null, at)
    return unread
  }

  /** Sends events to the sockets of users, after the commit. */
  announce(notices: readonly PersonalNotice[]): void {
    for (const { data, type, userId } of notices) {
      publishToUser(this.#foundation.coordination, userId, type, data)
    }
  }

  /** Deletes notifications that are old, and the oldest ones of users who have very many. */
  async prune(signal: AbortSignal): Promise<void> {
    const { clock, database } = this.#foundation
    const before = new Date(clock.now() - KEPT_DAYS * DAY).toISOString()
    while (!signal.aborted && (await pruneOld.run(database, { before })) === ROWS) continue
    for (let last: string | undefined; !signal.aborted;) {
      const where = last === undefined ? {} : { userId: greaterThan(last) }
      const boxes = await notificationBoxes.find(database, where, {
        columns: ['userId'],
        orderBy: ['userId asc'],
        limit: USERS,
      })
      for (const from of await firstTooMuch.rows(database, { userIds: boxes.map(({ userId }) => userId) })) {
        while (!signal.aborted && (await pruneFrom.run(database, from)) === ROWS) continue
      }
      last = boxes.at(-1)?.userId
      if (boxes.length < USERS) break
    }
  }

  #announceRead(userId: string, unread: UnreadData, notificationId: string | null, at: string): void {
    const data: EventData<typeof notificationsRead> = { ...unread, notificationId, at }
    this.announce([{ userId, type: notificationsRead, data }])
  }
}
