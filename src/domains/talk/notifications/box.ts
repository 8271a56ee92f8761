import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import type { UnreadData } from './schemas.ts'
import { notificationBoxes, notifications } from './tables.ts'

const raiseVersion = query({ notificationBoxes }, (db, $: { userId: string }) =>
  db
    .insertInto('notificationBoxes')
    .values({ userId: $.userId, version: 1 })
    .onConflict((conflict) =>
      conflict.column('userId').doUpdateSet((e) => ({ version: e('notificationBoxes.version', '+', 1) })),
    ),
)

/** One statement reads both, so that they belong together. */
const unreadAndVersion = query({ notificationBoxes, notifications }, (db, $: { userId: string }) =>
  db.selectNoFrom((e) => {
    const unread = e
      .selectFrom('notifications')
      .select((n) => n.fn.countAll<number>().as('count'))
      .where('userId', '=', $.userId)
      // A literal, so that the index of unread notifications serves it.
      .where('inApp', '=', e.lit(true))
      .where('readAt', 'is', null)
    const version = e.selectFrom('notificationBoxes').select('version').where('userId', '=', $.userId)
    return [
      unread.$asScalar().$notNull().as('unreadCount'),
      e.fn.coalesce(version, e.lit(0)).$castTo<number>().as('version'),
    ]
  }),
)

/**
 * Locks the notifications of a user until the transaction ends. Each change begins with it. Transactions that lock
 * several users do so in the order of their ids.
 */
export async function lockBox(tx: Sql, userId: string): Promise<void> {
  await raiseVersion.run(tx, { userId })
}

/** The unread notifications of a user. They are counted, so the number is exact also after cascades of other deletions. */
export async function unreadOf(sql: Sql, userId: string): Promise<UnreadData> {
  return (await unreadAndVersion.row(sql, { userId })) ?? { unreadCount: 0, version: 0 }
}
