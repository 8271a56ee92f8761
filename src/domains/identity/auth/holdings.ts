import type { Caller } from '../../../core/caller.ts'
import type { Sql } from '../../../core/sql.ts'

/** By what something is held that lasts longer than a request: a login session or an API key. */
export interface Holding {
  readonly userId: string
  /** Null where it was had with an API key. */
  readonly sessionId: string | null
  /** Null where it was had with a session. */
  readonly apiKeyId: string | null
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** @param now milliseconds since the epoch */
export function holdingOf({ apiKey, sessionId, userId }: Caller, now: number): Holding {
  return { userId, sessionId: sessionId ?? null, apiKeyId: apiKey?.id ?? null, since: now }
}

/** Those whose session was not ended, or whose API key was neither revoked nor changed since and has not expired. Whether they are members is not asked. */
export async function stillHeld<H extends Holding>(sql: Sql, holdings: readonly H[], now: number): Promise<H[]> {
  const rows = await sql.rows<{ place: number }>(
    `select h.place::int from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[]) with ordinality
       as h (user_id, session_id, api_key_id, since, place)
     where case when h.session_id is null then exists (
         select from api_keys k where k.id = h.api_key_id and k.user_id = h.user_id and k.updated_at <= h.since
           and (k.expires_at is null or k.expires_at > $5))
       else exists (
         select from sessions s where s.id = h.session_id and s.user_id = h.user_id and s.revoked_at is null) end`,
    [
      holdings.map(({ userId }) => userId),
      holdings.map(({ sessionId }) => sessionId),
      holdings.map(({ apiKeyId }) => apiKeyId),
      holdings.map(({ since }) => new Date(since)),
      new Date(now),
    ],
  )
  return rows.flatMap(({ place }) => holdings[place - 1] ?? [])
}
