import type { Caller } from '../../../core/caller.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { apiKeys, sessions } from './tables.ts'

/** Refers to the session or API key of a caller. Kept for resources that outlive a request, such as an open preview. */
export interface CredentialRef {
  readonly userId: string
  /** Null for an API key. */
  readonly sessionId: string | null
  /** Null for a session. */
  readonly apiKeyId: string | null
  /** When the credential was checked, in milliseconds since the epoch. */
  readonly since: number
}

/** The reference to a caller's credential. @param now milliseconds since the epoch */
export function credentialRefOf({ apiKey, sessionId, userId }: Caller, now: number): CredentialRef {
  return { userId, sessionId: sessionId ?? null, apiKeyId: apiKey?.id ?? null, since: now }
}

/**
 * Returns the references that are still valid: the session is not revoked, or the API key exists, is unchanged and has
 * not expired. Memberships are not checked.
 */
export async function findValidCredentials<R extends CredentialRef>(
  sql: Sql,
  refs: readonly R[],
  now: number,
): Promise<R[]> {
  const sessionIds = refs.flatMap(({ sessionId }) => sessionId ?? [])
  const keyIds = refs.flatMap(({ apiKeyId, sessionId }) => (sessionId === null ? (apiKeyId ?? []) : []))
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
  return refs.filter(({ apiKeyId, sessionId, since, userId }) => {
    if (sessionId !== null) return sessionOwners.get(sessionId) === userId
    const key = keysById.get(apiKeyId ?? '')
    if (key === undefined || key.userId !== userId || Date.parse(key.updatedAt) > since) return false
    return key.expiresAt === null || Date.parse(key.expiresAt) > now
  })
}
