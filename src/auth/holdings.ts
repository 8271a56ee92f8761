import type { Caller } from '../core/caller.ts'
import type { Sql } from '../core/sql.ts'

/** By what something is held that lasts longer than a request: a login session, or the API key of that time. */
export interface Holding {
  readonly userId: string
  /** Null where it was had with the API key. */
  readonly sessionId: string | null
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** @param now milliseconds since the epoch */
export function holdingOf({ sessionId, userId }: Caller, now: number): Holding {
  return { userId, sessionId: sessionId ?? null, since: now }
}

/** Those whose session was not ended, or whose user has had no other API key since. Whether they are members is not asked. */
export async function stillHeld<H extends Holding>(sql: Sql, holdings: readonly H[]): Promise<H[]> {
  const rows = await sql.rows<{ place: number }>(
    `select h.place::int from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) with ordinality
       as h (user_id, session_id, since, place)
     join users u on u.id = h.user_id
     where case when h.session_id is null then coalesce(u.credentials_changed_at < h.since, true)
       else exists (select from sessions s where s.id = h.session_id and s.user_id = u.id and s.revoked_at is null) end`,
    [
      holdings.map(({ userId }) => userId),
      holdings.map(({ sessionId }) => sessionId),
      holdings.map(({ since }) => new Date(since)),
    ],
  )
  return rows.flatMap(({ place }) => holdings[place - 1] ?? [])
}
