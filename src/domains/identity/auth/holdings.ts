import type { Caller } from '../../../core/caller.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { apiKeys, sessions } from './tables.ts'

/** The credential behind something that outlives a request: a session or an API key. */
export interface Holding {
  readonly userId: string
  /** Null for an API key. */
  readonly sessionId: string | null
  /** Null for a session. */
  readonly apiKeyId: string | null
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** @param now milliseconds since the epoch */
export function holdingOf({ apiKey, sessionId, userId }: Caller, now: number): Holding {
  return { userId, sessionId: sessionId ?? null, apiKeyId: apiKey?.id ?? null, since: now }
}

/**
 * The holdings whose session has not been revoked, or whose API key exists, has not changed since and has not expired.
 * Memberships are not checked.
 */
export async function stillHeld<H extends Holding>(sql: Sql, holdings: readonly H[], now: number): Promise<H[]> {
  const sessionIds = holdings.flatMap(({ sessionId }) => sessionId ?? [])
  const keyIds = holdings.flatMap(({ apiKeyId, sessionId }) => (sessionId === null ? (apiKeyId ?? []) : []))
  const [openSessions, keys] = await Promise.all([
    sessionIds.length === 0
      ? []
      : sessions.find(sql, { id: anyOf(sessionIds), revokedAt: null }, { columns: ['id', 'userId'] }),
    keyIds.length === 0
      ? []
      : apiKeys.find(sql, { id: anyOf(keyIds) }, { columns: ['id', 'userId', 'expiresAt', 'updatedAt'] }),
  ])
  const sessionOwners = new Map(openSessions.map(({ id, userId }) => [id, userId]))
  const keysById = new Map(keys.map((key) => [key.id, key]))
  return holdings.filter(({ apiKeyId, sessionId, since, userId }) => {
    if (sessionId !== null) return sessionOwners.get(sessionId) === userId
    const key = keysById.get(apiKeyId ?? '')
    if (key === undefined || key.userId !== userId || Date.parse(key.updatedAt) > since) return false
    return key.expiresAt === null || Date.parse(key.expiresAt) > now
  })
}
