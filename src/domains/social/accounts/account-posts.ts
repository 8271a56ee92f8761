import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'

/** A scheduled post that needs an account. */
export interface DuePost {
  readonly postId: string
  readonly title: string
  readonly scheduledFor: string
}

/** What publishing does when the status of an account changes, in the same turn. */
export interface AccountPosts {
  /** Scheduled posts that would be cancelled. */
  readonly due: (sql: Sql, accountIds: readonly string[]) => Promise<readonly DuePost[]>
  /** The account was removed. */
  readonly cancel: (turn: Turn, accountId: string) => Promise<void>
  /** A removed account was restored or connected again. */
  readonly restore: (turn: Turn, accountId: string) => Promise<void>
  /** Nothing can be published to the account until something changes. A `reason` of null means that it works again. */
  readonly hold: (turn: Turn, accountId: string, reason: string | null) => Promise<void>
  /** The account was deleted for good. */
  readonly forget: (turn: Turn, accountId: string) => Promise<void>
}
