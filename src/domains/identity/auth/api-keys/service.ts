import type { Caller } from '../../../../core/caller.ts'
import { DAY } from '../../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../../core/precondition.ts'
import { Provided } from '../../../../core/provided.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Static } from '../../../../core/schema.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Origin } from '../../../../core/workspace-logs.ts'
import type { Transaction } from '../../../../db/database.ts'
import { increment } from '../../../../db/increment.ts'
import type { Postman } from '../../../../mail/postman.ts'
import { securityMail } from '../../../../mail/templates.ts'
import type { Foundation } from '../../../../foundation.ts'
import { announceCredentials, findUser, markCredentialsChanged, touchUser } from '../../users/index.ts'
import { apiKeys, type ApiKeyRow } from '../tables.ts'
import { TooManyApiKeys } from './errors.ts'
import { newApiKey } from './keys.ts'
import type {
  ApiKeyChange,
  ApiKeyView,
  CreatedApiKey,
  KeptApiKey,
  NewApiKeyInput,
  RegeneratedApiKey,
} from './schemas.ts'

const MAX_KEYS = 50
const MAX_LIFETIME_MS = 3_660 * DAY
const DEFAULT_NAME = 'Default key'

type View = Static<typeof ApiKeyView>
type KeyAction = 'createApiKey' | 'updateApiKey' | 'revokeApiKey' | 'regenerateApiKey'

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'logs'> & {
  readonly postman: Postman
}

/** The API keys of users. Each change is recorded in the audit log of every workspace that the key opens. */
export class ApiKeyService {
  /** Finds the ids of the workspaces that a user is a member of. */
  readonly workspaceIds = new Provided<(sql: Sql, userId: string) => Promise<string[]>>('the workspaces of users')
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** The first characters of a user's default key, or null without one. */
  async defaultPrefix(sql: Sql, userId: string): Promise<string | null> {
    const row = await apiKeys.first(sql, { userId, isDefault: true }, { columns: ['prefix'] })
    return row?.prefix ?? null
  }

  /** Gives a new user their default key. @returns the key, which is shown once */
  async issueDefault(sql: Sql, userId: string): Promise<string> {
    const { key } = await this.#replaceDefault(sql, userId)
    return key
  }

  /** Deletes all keys of a user. */
  async deleteAll(sql: Sql, userId: string): Promise<void> {
    await apiKeys.delete(sql, { userId })
  }

  /** The keys of a user that have not expired, newest first. */
  async working(sql: Sql, userId: string): Promise<Static<typeof KeptApiKey>[]> {
    const rows = await apiKeys.find(sql, { userId }, { orderBy: ['id desc'], limit: MAX_KEYS })
    const now = this.#dependencies.clock.now()
    return rows
      .filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > now)
      .map(({ lastUsedAt, name, prefix }) => ({ name, prefix, lastUsedAt }))
  }

  /** Revokes all keys of a caller, at once on every node. @returns how many */
  async revokeAll(tx: Transaction, caller: Caller, origin: Origin): Promise<number> {
    const rows = await apiKeys.deleteReturning(tx, { userId: caller.userId })
    for (const row of rows) await this.#record(tx, caller, 'revokeApiKey', [row], origin)
    await this.#announce(tx, caller.userId)
    return rows.length
  }

  /** A page of the caller's keys, newest first. */
  async list({ userId }: Caller, page: PageRequest): Promise<PageResult<View>> {
    const rows = await apiKeys.page(this.#dependencies.database, { userId }, page)
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), view)
  }

  /** @throws AppError not_found */
  async get({ userId }: Caller, id: string): Promise<View> {
    return view(await this.#row(this.#dependencies.database, userId, id))
  }

  /**
   * Creates a key, which is shown once.
   * @throws AppError validation_failed for an expiry in the past or a workspace that the caller is not a member of,
   *   too_many_api_keys
   */
  async create(
    caller: Caller,
    input: Static<typeof NewApiKeyInput>,
    origin: Origin,
  ): Promise<Static<typeof CreatedApiKey>> {
    const { database, postman } = this.#dependencies
    const { userId } = caller
    const { key, hash, prefix } = newApiKey()
    const { expiresAt = null, name, scopes = null, workspaceIds = null } = input
    const row = await database.transaction(async (tx) => {
      // The lock makes concurrent requests count one after the other.
      const user = await findUser(tx, userId, { lock: 'for no key update' })
      if (user === undefined) throw NotFound()
      if ((await apiKeys.count(tx, { userId })) >= MAX_KEYS) {
        throw TooManyApiKeys({
          message: `An account can have at most ${MAX_KEYS} API keys. Revoke one that is no longer used.`,
        })
      }
      const memberOf = await this.workspaceIds.get()(tx, userId)
      this.#check(input, memberOf)
      const limits = { scopes, workspaceIds, expiresAt }
      const created = await this.#insert(tx, { userId, name, keyHash: hash, prefix, ...limits })
      await this.#record(tx, caller, 'createApiKey', [created], origin, memberOf)
      await postman.post(tx, securityMail(user, { kind: 'api_key_added', key: name }))
      return created
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
    return this.#dependencies.database.transaction(async (tx) => {
      const before = await this.#row(tx, userId, id, 'for update')
      requireVersion(ifMatch, before.version)
      const memberOf = await this.workspaceIds.get()(tx, userId)
      this.#check(change, memberOf)
      const changes = { ...change, version: increment(), updatedAt: this.#now() }
      const [after = before] = await apiKeys.updateReturning(tx, { id, userId }, changes)
      // Workspaces that the key no longer opens get an entry too.
      await this.#record(tx, caller, 'updateApiKey', [before, after], origin, memberOf)
      await this.#announce(tx, userId)
      return view(after)
    })
  }

  /** Revokes a key, at once on every node. @throws AppError not_found */
  async revoke(caller: Caller, id: string, origin: Origin): Promise<void> {
    const { userId } = caller
    await this.#dependencies.database.transaction(async (tx) => {
      const [row] = await apiKeys.deleteReturning(tx, { id, userId })
      if (row === undefined) throw NotFound()
      await this.#record(tx, caller, 'revokeApiKey', [row], origin)
      await this.#announce(tx, userId)
    })
  }

  /** Replaces the default key. The old one stops working at once on every node. */
  async regenerate(caller: Caller, origin: Origin): Promise<Static<typeof RegeneratedApiKey>> {
    const { database, postman } = this.#dependencies
    const { userId } = caller
    return database.transaction(async (tx) => {
      const user = await touchUser(tx, userId, this.#now())
      if (user === undefined) throw NotFound()
      const { key, row } = await this.#replaceDefault(tx, userId)
      await this.#record(tx, caller, 'regenerateApiKey', [row], origin)
      await this.#announce(tx, userId)
      await postman.post(tx, securityMail(user, { kind: 'api_key_created' }))
      return { apiKey: key, apiKeyPrefix: row.prefix }
    })
  }

  async #replaceDefault(sql: Sql, userId: string): Promise<{ key: string; row: ApiKeyRow }> {
    const { hash, key, prefix } = newApiKey()
    await apiKeys.delete(sql, { userId, isDefault: true })
    const row = await this.#insert(sql, { userId, name: DEFAULT_NAME, keyHash: hash, prefix, isDefault: true })
    return { key, row }
  }

  async #insert(sql: Sql, row: Omit<Parameters<typeof apiKeys.insert>[1], 'id' | 'createdAt' | 'updatedAt'>) {
    const now = this.#now()
    const id = uuidv7(now.getTime())
    await apiKeys.insert(sql, { ...row, id, createdAt: now, updatedAt: now })
    return this.#row(sql, row.userId, id)
  }

  #check({ expiresAt, workspaceIds }: Static<typeof ApiKeyChange>, memberOf: readonly string[]): void {
    const now = this.#dependencies.clock.now()
    const until = expiresAt == null ? undefined : Date.parse(expiresAt)
    if (until !== undefined && !(until > now && until <= now + MAX_LIFETIME_MS)) {
      throw invalid('/body/expiresAt', 'must be in the future, at most ten years from now')
    }
    const index = workspaceIds?.findIndex((id) => !memberOf.includes(id)) ?? -1
    if (index !== -1)
      throw invalid(`/body/workspaceIds/${index}`, 'must be the id of a workspace that you are a member of')
  }

  /** @param keys states of one key, the newest last: each workspace that one of them opens gets an entry */
  async #record(
    tx: Transaction,
    caller: Caller,
    action: KeyAction,
    keys: readonly ApiKeyRow[],
    origin: Origin,
    memberOf?: readonly string[],
  ): Promise<void> {
    const { logs } = this.#dependencies
    const key = keys.at(-1)
    if (key === undefined) return
    const { expiresAt, id, name, scopes } = key
    for (const workspaceId of memberOf ?? (await this.workspaceIds.get()(tx, caller.userId))) {
      if (!keys.some(({ workspaceIds }) => workspaceIds?.includes(workspaceId) ?? true)) continue
      await logs.recordAudit(tx, {
        workspaceId,
        caller,
        action,
        target: { kind: 'api_key', id },
        details: { name, scopes, expiresAt },
        at: this.#now(),
        origin,
      })
    }
  }

  /** Nodes that miss the notice find the change in the database. */
  async #announce(tx: Transaction, userId: string): Promise<void> {
    await markCredentialsChanged(tx, userId, this.#now())
    tx.afterCommit(() => announceCredentials(this.#dependencies.coordination, { kind: 'user', userId }))
  }

  async #row(sql: Sql, userId: string, id: string, lock?: 'for update'): Promise<ApiKeyRow> {
    const row = await apiKeys.first(sql, { id, userId }, lock && { lock })
    if (row === undefined) throw NotFound()
    return row
  }

  #now(): Date {
    return new Date(this.#dependencies.clock.now())
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
