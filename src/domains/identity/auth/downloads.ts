import { SECOND, type Clock } from '../../../core/clock.ts'
import type { Caller } from '../../../core/caller.ts'
import { Conflict, InvalidCredential, ValidationFailed } from '../../../core/errors.ts'
import { secretToken, sha256 } from '../../../tools/id.ts'
import { isScope } from '../../../core/scope.ts'
import { Provided } from '../../../core/provided.ts'
import { greaterThan, lessThan } from '../../../db/condition.ts'
import type { Database } from '../../../db/database.ts'
import { findUser } from '../users/index.ts'
import { apiKeys, downloadLinks, sessions } from './tables.ts'
import { totps } from './second-factor/tables.ts'
import { not } from '../../../db/condition.ts'

const VALID_MS = 60 * SECOND
/** Unused links of one user. */
const MAX_OPEN = 20

/** Whether this path of this server answers GET with a file that needs a credential. */
type IsFile = (path: string) => boolean

/**
 * Links with which a browser downloads a file without a header. Each works once, within a minute, for one path with its
 * query. The request then counts as one of the credential that has made the link: it needs the same rights, and it is
 * refused if the credential was revoked in between.
 */
export class DownloadLinks {
  readonly isFile = new Provided<IsFile>('operations that answer with a file')
  readonly #database: Database
  readonly #clock: Clock
  readonly #publicUrl: string

  constructor(database: Database, clock: Clock, publicUrl: string) {
    this.#database = database
    this.#clock = clock
    this.#publicUrl = publicUrl
  }

  /** @throws AppError validation_failed for a path without a file; conflict for too many unused links */
  async create({ apiKey, sessionId, userId }: Caller, path: string): Promise<{ url: string; expiresAt: string }> {
    const target = targetOf(path)
    if (target === undefined || !this.isFile.get()(target.pathname)) {
      const message =
        'must be the path of a GET operation that answers with a file and needs a credential, with its query'
      throw ValidationFailed({ errors: [{ path: '/body/path', code: 'no_file', message }] })
    }
    const now = this.#clock.now()
    await downloadLinks.delete(this.#database, { userId, expiresAt: lessThan(new Date(now)) })
    if ((await downloadLinks.count(this.#database, { userId })) >= MAX_OPEN) {
      throw Conflict({ message: `You have ${MAX_OPEN} unused download links. Use them, or wait a minute.` })
    }
    const token = secretToken(32)
    const expiresAt = new Date(now + VALID_MS)
    const { pathname, query } = target
    await downloadLinks.insert(this.#database, {
      tokenHash: sha256(token),
      userId,
      sessionId: sessionId ?? null,
      apiKeyId: apiKey?.id ?? null,
      targetHash: sha256(`${pathname}?${query}`),
      expiresAt,
    })
    const url = `${this.#publicUrl}${pathname}?${query === '' ? '' : `${query}&`}download=${token}`
    return { url, expiresAt: expiresAt.toISOString() }
  }

  /**
   * Uses a link up.
   * @returns the caller that has made it
   * @throws AppError invalid_credential
   */
  async redeem(path: string, query: string, token: string): Promise<Caller> {
    const now = new Date(this.#clock.now())
    const link = { tokenHash: sha256(token), expiresAt: greaterThan(now), targetHash: sha256(`${path}?${query}`) }
    const [row] = await downloadLinks.deleteReturning(this.#database, link)
    const caller = row && (await this.#callerOf(row, now))
    if (caller === undefined) {
      throw InvalidCredential({
        message: 'The download link was used, has expired, or is for another file. Make a new one.',
      })
    }
    return caller
  }

  async #callerOf(
    { apiKeyId, sessionId, userId }: { apiKeyId: string | null; sessionId: string | null; userId: string },
    now: Date,
  ): Promise<Caller | undefined> {
    const sql = this.#database
    const user = await findUser(sql, userId, { columns: ['email', 'isAdmin', 'emailVerified'] })
    if (user === undefined) return undefined
    const hasCodes = await totps.exists(sql, { userId, confirmedAt: not(null) })
    if (apiKeyId !== null) {
      const key = await apiKeys.first(sql, { id: apiKeyId, userId })
      if (key === undefined || (key.expiresAt !== null && Date.parse(key.expiresAt) <= now.getTime())) return undefined
      const scopes = key.scopes && new Set(key.scopes.filter(isScope))
      const workspaceIds = key.workspaceIds && new Set(key.workspaceIds)
      const isAdmin = user.isAdmin && scopes === null && workspaceIds === null
      const apiKey = { id: key.id, scopes, workspaceIds }
      return { userId, ...user, isAdmin, secondFactor: hasCodes, via: 'ticket', apiKey }
    }
    if (sessionId === null) return undefined
    const session = await sessions.first(sql, { id: sessionId, userId, revokedAt: null })
    if (session === undefined) return undefined
    return { userId, ...user, secondFactor: hasCodes || session.method === 'passkey', sessionId, via: 'ticket' }
  }
}

/** The path and the query of a request as a browser writes them; undefined if they do not lead to this server. */
function targetOf(path: string): { pathname: string; query: string } | undefined {
  const base = 'http://crier.invalid'
  const url = URL.parse(path, base)
  if (url === null || url.origin !== base || url.hash !== '' || url.searchParams.has('download')) return undefined
  return { pathname: url.pathname, query: url.search.slice(1) }
}
