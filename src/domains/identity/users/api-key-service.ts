import type { Caller } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { Database, Transaction } from '../../../db/database.ts'
import type { Postman } from '../../../mail/postman.ts'
import { securityMail } from '../../../mail/templates.ts'
import { recordAudit, type Origin } from '../../workspace/workspaces/audit-log.ts'
import { findUser, markCredentialsChanged, touchUser } from './accounts.ts'
import { newApiKey, type NewApiKey } from './api-keys.ts'
import { apiKeys, type ApiKeyRow } from './api-key-table.ts'
import type { ApiKeyChange, ApiKeyView, CreatedApiKey, NewApiKeyInput } from './api-key-schemas.ts'
import { announceCredentials } from './credential-notices.ts'
import { TooManyApiKeys } from './errors.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly apiKeys: ApiKeyService
  }
}

const MOST_KEYS = 50
const LONGEST_LIFE_MS = 3_660 * DAY
const DEFAULT_NAME = 'Default key'

type View = Static<typeof ApiKeyView>
type KeyEvent = 'createApiKey' | 'updateApiKey' | 'revokeApiKey' | 'regenerateApiKey'

export interface ApiKeyServiceOptions {
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly postman: Postman
}

/**
 * The API keys of users. What happens to a key stands in the audit log of each workspace that the key opens.
 */
export class ApiKeyService {
  readonly #options: ApiKeyServiceOptions

  constructor(options: ApiKeyServiceOptions) {
    this.#options = options
  }

  /** The first characters of a user's default key, if they have one. */
  async defaultPrefix(sql: Sql, userId: string): Promise<string | null> {
    const row = await apiKeys.first(sql, { userId, isDefault: true }, { columns: ['prefix'] })
    return row?.prefix ?? null
  }

  /** Gives a user a default key in the place of the one they have, if any. For the transaction of the caller. */
  async setDefault(sql: Sql, userId: string, { hash, prefix }: NewApiKey): Promise<ApiKeyRow> {
    const now = this.#now()
    await apiKeys.delete(sql, { userId, isDefault: true })
    const id = uuidv7(now.getTime())
    await apiKeys.insert(sql, {
      id,
      userId,
      name: DEFAULT_NAME,
      keyHash: hash,
      prefix,
      isDefault: true,
      createdAt: now,
      updatedAt: now,
    })
    return this.#row(sql, userId, id)
  }

  /** A page of the caller's keys, newest first. */
  async list({ userId }: Caller, page: PageRequest): Promise<PageResult<View>> {
    const rows = await apiKeys.page(this.#options.database, { userId }, page)
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), view)
  }

  /** @throws AppError not_found */
  async get({ userId }: Caller, id: string): Promise<View> {
    return view(await this.#row(this.#options.database, userId, id))
  }

  /**
   * Makes a key, which is shown this once.
   * @throws AppError validation_failed for a workspace of others or a time that is over, too_many_api_keys
   */
  async create(
    caller: Caller,
    input: Static<typeof NewApiKeyInput>,
    origin: Origin,
  ): Promise<Static<typeof CreatedApiKey>> {
    const { database, postman } = this.#options
    const { userId } = caller
    const { key, hash, prefix } = newApiKey()
    const now = this.#now()
    const id = uuidv7(now.getTime())
    const row = await database.transaction(async (tx) => {
      // Two at once must not both take the last place.
      const user = await findUser(tx, userId, { lock: 'for no key update' })
      if (user === undefined) throw NotFound()
      if ((await apiKeys.count(tx, { userId })) >= MOST_KEYS) {
        throw TooManyApiKeys({ message: `An account has ${MOST_KEYS} API keys at most.` })
      }
      await this.#check(tx, userId, input)
      await apiKeys.insert(tx, {
        id,
        userId,
        name: input.name,
        keyHash: hash,
        prefix,
        scopes: input.scopes ?? null,
        workspaceIds: input.workspaceIds ?? null,
        expiresAt: input.expiresAt ?? null,
        createdAt: now,
        updatedAt: now,
      })
      const made = await this.#row(tx, userId, id)
      await this.#record(tx, caller, 'createApiKey', [made], origin)
      await postman.post(tx, securityMail(user, { kind: 'api_key_added', key: input.name }))
      return made
    })
    return { ...view(row), apiKey: key }
  }

  /**
   * Changes what a key may do, at once on every node.
   * @throws AppError not_found, precondition_failed, validation_failed
   */
  async update(
    caller: Caller,
    id: string,
    change: Static<typeof ApiKeyChange>,
    ifMatch: IfMatch,
    origin: Origin,
  ): Promise<View> {
    const { userId } = caller
    return this.#options.database.transaction(async (tx) => {
      const before = await this.#row(tx, userId, id, 'for update')
      requireVersion(ifMatch, before.version)
      await this.#check(tx, userId, change)
      const version = before.version + 1
      await apiKeys.update(tx, { id, userId }, { ...change, version, updatedAt: this.#now() })
      const after = await this.#row(tx, userId, id)
      // Also where the key opened a workspace before and does no longer.
      await this.#record(tx, caller, 'updateApiKey', [before, after], origin)
      await this.#announce(tx, userId)
      return view(after)
    })
  }

  /** The key stops working at once, on every node. @throws AppError not_found */
  async revoke(caller: Caller, id: string, origin: Origin): Promise<void> {
    const { userId } = caller
    await this.#options.database.transaction(async (tx) => {
      const row = await this.#row(tx, userId, id, 'for update')
      await apiKeys.delete(tx, { id, userId })
      await this.#record(tx, caller, 'revokeApiKey', [row], origin)
      await this.#announce(tx, userId)
    })
  }

  /** A new default key in the place of the old one, which stops working at once on every node. */
  async regenerate(caller: Caller, origin: Origin): Promise<{ apiKey: string; apiKeyPrefix: string }> {
    const { database, postman } = this.#options
    const { userId } = caller
    const made = newApiKey()
    await database.transaction(async (tx) => {
      const user = await touchUser(tx, userId, this.#now())
      if (user === undefined) throw NotFound()
      const row = await this.setDefault(tx, userId, made)
      await this.#record(tx, caller, 'regenerateApiKey', [row], origin)
      await this.#announce(tx, userId)
      await postman.post(tx, securityMail(user, { kind: 'api_key_created' }))
    })
    return { apiKey: made.key, apiKeyPrefix: made.prefix }
  }

  async #check(sql: Sql, userId: string, { expiresAt, workspaceIds }: Static<typeof ApiKeyChange>): Promise<void> {
    const now = this.#options.clock.now()
    const until = expiresAt == null ? undefined : Date.parse(expiresAt)
    if (until !== undefined && !(until > now && until <= now + LONGEST_LIFE_MS)) {
      throw invalid('/body/expiresAt', 'must be in the future, within ten years')
    }
    if (workspaceIds == null) return
    const rows = await sql.rows<{ id: string }>(
      `select m.workspace_id as id from workspace_members m
       join workspaces w on w.id = m.workspace_id and w.deleted_at is null
       where m.user_id = $1 and m.workspace_id = any($2::uuid[])`,
      [userId, workspaceIds],
    )
    const own = new Set(rows.map(({ id }) => id))
    const index = workspaceIds.findIndex((id) => !own.has(id))
    if (index !== -1) throw invalid(`/body/workspaceIds/${index}`, 'must be a workspace that you are a member of')
  }

  async #record(
    tx: Transaction,
    caller: Caller,
    action: KeyEvent,
    keys: readonly ApiKeyRow[],
    origin: Origin,
  ): Promise<void> {
    const [key] = keys.slice(-1)
    if (key === undefined) return
    const { expiresAt, id, name, scopes } = key
    const opened = await tx.rows<{ id: string }>(
      `select m.workspace_id as id from workspace_members m
       join workspaces w on w.id = m.workspace_id and w.deleted_at is null where m.user_id = $1`,
      [caller.userId],
    )
    for (const workspace of opened) {
      if (!keys.some(({ workspaceIds }) => workspaceIds?.includes(workspace.id) ?? true)) continue
      await recordAudit(tx, {
        workspaceId: workspace.id,
        caller,
        action,
        target: { kind: 'api_key', id },
        details: { name, scopes, expiresAt },
        at: this.#now(),
        origin,
      })
    }
  }

  /** Nodes that miss the notice find the change by its time. */
  async #announce(tx: Transaction, userId: string): Promise<void> {
    await markCredentialsChanged(tx, userId, this.#now())
    tx.afterCommit(() => announceCredentials(this.#options.coordination, { kind: 'user', userId }))
  }

  async #row(sql: Sql, userId: string, id: string, lock?: 'for update'): Promise<ApiKeyRow> {
    const row = await apiKeys.first(sql, { id, userId }, lock === undefined ? {} : { lock })
    if (row === undefined) throw NotFound()
    return row
  }

  #now(): Date {
    return new Date(this.#options.clock.now())
  }
}

function view(row: ApiKeyRow): View {
  return {
    _id: row.id,
    name: row.name,
    prefix: row.prefix,
    isDefault: row.isDefault,
    scopes: row.scopes as View['scopes'],
    workspaceIds: row.workspaceIds,
    expiresAt: row.expiresAt,
    lastUsedAt: row.lastUsedAt,
    lastUsedAddress: row.lastUsedAddress,
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

function invalid(path: string, message: string) {
  return ValidationFailed({ errors: [{ path, code: 'invalid', message }] })
}
