import { sql as raw } from 'kysely'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { posts, postTargets } from '../../posts/index.ts'
import { LEAD_MS } from '../../planning/index.ts'

export interface DueTarget {
  readonly id: string
  readonly postId: string
}

interface Wanted {
  readonly workspaceId: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** How many, the most urgent first. */
  readonly most: number
  /** The only target to look at. */
  readonly targetId?: string | undefined
}

interface Due {
  readonly workspaceId: string
  readonly now: string
  readonly ahead: string
  readonly most: number
  readonly targetId?: string | undefined
}

function dueQuery(isLocked: boolean) {
  return query({ posts, postTargets }, (db, $: Due) => {
    const found = db
      .selectFrom('postTargets as t')
      .select(['t.id', 't.postId'])
      .where('t.workspaceId', '=', $.workspaceId)
      // The states are literals, because PostgreSQL does not use the partial index with parameters.
      .where(raw<boolean>`t.status in ('scheduled', 'publishing', 'unconfirmed')`)
      .where((e) => {
        const at = e.fn.coalesce('t.nextAttemptAt', 't.scheduledAt')
        return e.and([
          e(at, '<=', $.ahead),
          // Only the first attempt is claimed ahead of its time.
          e.or([e(at, '<=', $.now), e.and([e('t.status', '=', 'scheduled'), e('t.nextAttemptAt', 'is', null)])]),
          // No other attempt owns it. A preparation does not prevent the claim.
          e.or([e('t.status', '=', 'scheduled'), e('t.attemptId', 'is', null), e('t.leaseUntil', '<=', $.now)]),
          // Without a next check, only a user can decide.
          e.or([
            e('t.status', '<>', 'unconfirmed'),
            e('t.nextAttemptAt', 'is not', null),
            e('t.attemptId', 'is not', null),
          ]),
          e.exists(
            e
              .selectFrom('posts as p')
              .select('p.id')
              .whereRef('p.id', '=', 't.postId')
              .where('p.deletedAt', 'is', null),
          ),
        ])
      })
      .orderBy((e) => e.fn.coalesce('t.nextAttemptAt', 't.scheduledAt'))
      .orderBy('t.id')
      .limit($.most)
    const wanted = $.targetId === undefined ? found : found.where('t.id', '=', $.targetId)
    return isLocked ? wanted.forUpdate('t') : wanted
  })
}

const due = dueQuery(false)
const lockedDue = dueQuery(true)

/** The targets of a workspace that can be claimed now, in the order of their times. */
export function findDue(sql: Sql, wanted: Wanted): Promise<readonly DueTarget[]> {
  return due.rows(sql, dueOf(wanted))
}

/**
 * Locks the targets of a workspace that can be claimed now, before anything else of them is read. An attempt whose lease
 * ends just now either has extended it already, or is fenced.
 */
export function lockDue(sql: Sql, wanted: Wanted): Promise<readonly DueTarget[]> {
  return lockedDue.rows(sql, dueOf(wanted))
}

function dueOf({ now, ...wanted }: Wanted): Due {
  return { ...wanted, now: new Date(now).toISOString(), ahead: new Date(now + LEAD_MS).toISOString() }
}
