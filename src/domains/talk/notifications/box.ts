import type { Sql } from '../../../core/sql.ts'
import type { UnreadData } from './schemas.ts'

// Written by hand: `Table` has no upsert that returns the row.
const LOCK = `insert into notification_boxes (user_id, version) values ($1, 1)
  on conflict (user_id) do update set version = notification_boxes.version + 1
  returning version::int as version`

// Written by hand: one statement reads both, so that they belong together.
const UNREAD = `select
    (select count(*)::int from notifications where user_id = $1 and in_app and read_at is null) as "unreadCount",
    coalesce((select version::int from notification_boxes where user_id = $1), 0) as version`

/**
 * Locks the notifications of a user until the transaction ends. Each change begins with it. Transactions that lock
 * several users do so in the order of their ids.
 */
export async function lockBox(tx: Sql, userId: string): Promise<void> {
  await tx.row(LOCK, [userId])
}

/** The unread notifications of a user. They are counted, so the number is exact also after cascades of other deletions. */
export async function unreadOf(sql: Sql, userId: string): Promise<UnreadData> {
  return (await sql.row<UnreadData>(UNREAD, [userId])) ?? { unreadCount: 0, version: 0 }
}
