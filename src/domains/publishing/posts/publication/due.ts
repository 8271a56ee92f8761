import type { Sql, SqlValue } from '../../../../core/sql.ts'
import { LEAD_MS } from './lease.ts'

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

// Written by hand: Kysely does not see that the partial index on the status applies.
const DUE = `
  select t.id, t.post_id as "postId" from post_targets t
  where t.workspace_id = $1 and t.status in ('scheduled', 'publishing', 'unconfirmed')
    and coalesce(t.next_attempt_at, t.scheduled_at) <= $3
    -- Only the first attempt is claimed ahead of its time.
    and (coalesce(t.next_attempt_at, t.scheduled_at) <= $2 or (t.status = 'scheduled' and t.next_attempt_at is null))
    -- Nobody else is at it. A preparation gives way.
    and (t.status = 'scheduled' or t.attempt_id is null or t.lease_until <= $2)
    -- Without a next check, only a user can decide.
    and (t.status <> 'unconfirmed' or t.next_attempt_at is not null or t.attempt_id is not null)
    and ($4::uuid is null or t.id = $4)
    and exists (select 1 from posts p where p.id = t.post_id and p.deleted_at is null)
  order by coalesce(t.next_attempt_at, t.scheduled_at), t.id limit $5`
const LOCK_DUE = `${DUE} for update of t`

/** The targets of a workspace that can be claimed now, in the order of their times. */
export function findDue(sql: Sql, wanted: Wanted): Promise<readonly DueTarget[]> {
  return sql.rows<DueTarget>(DUE, valuesOf(wanted))
}

/**
 * Locks the targets of a workspace that can be claimed now, before anything else of them is read. An attempt whose lease
 * ends just now either has extended it already, or is fenced.
 */
export function lockDue(sql: Sql, wanted: Wanted): Promise<readonly DueTarget[]> {
  return sql.rows<DueTarget>(LOCK_DUE, valuesOf(wanted))
}

function valuesOf({ most, now, targetId, workspaceId }: Wanted): SqlValue[] {
  return [workspaceId, new Date(now).toISOString(), new Date(now + LEAD_MS).toISOString(), targetId ?? null, most]
}
