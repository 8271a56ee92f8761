import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import { LockMode } from '@mikro-orm/postgresql'
import type { Clock } from '../../../core/clock.ts'
import type { Caller } from '../../../core/caller.ts'
import { InvalidCredential } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database, Transaction } from '../../../db/database.ts'
import { isUniqueViolation } from '../../../db/prepared-sql.ts'
import type { PlanName } from '../../money/plans/plans.ts'
import type { PlanService } from '../../money/plans/service.ts'
import type { ApiKeyService } from './api-key-service.ts'
import { newApiKey, type NewApiKey } from './api-keys.ts'
import { normalizeEmail } from './email-address.ts'
import { User } from './entities.ts'
import { EmailInUse } from './errors.ts'
import type { ProfileChanges, SettingsData, UserData } from './schemas.ts'
import { completeSettings, mergeDeep, type Settings } from './settings.ts'
import { userView, type UserRow } from './user-row.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly users: UserService
  }
}

export interface UserServiceOptions {
  readonly database: Database
  readonly clock: Clock
  readonly plans: PlanService
  readonly apiKeys: ApiKeyService
}

/** What a new user starts with; the address must be normalised. */
export interface NewUserData {
  readonly email: string
  readonly name?: string | undefined
  readonly passwordHash?: string
  readonly emailVerified?: boolean
  readonly isAdmin?: boolean
  /** The free one, when absent. */
  readonly plan?: PlanName
  readonly apiKey?: NewApiKey
}

/** Users: their profile and settings. */
export class UserService {
  readonly #options: UserServiceOptions

  constructor(options: UserServiceOptions) {
    this.#options = options
  }

  /**
   * Makes a user in a transaction of the caller's.
   * @throws AppError email_in_use
   */
  async insert(tx: Transaction, data: NewUserData): Promise<UserRow> {
    const now = this.#options.clock.now()
    const id = uuidv7(now)
    try {
      await tx.run(
        `insert into users (id, email, name, password_hash, email_verified, is_admin, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $7)`,
        [
          id,
          data.email,
          data.name ?? '',
          data.passwordHash ?? null,
          data.emailVerified ?? false,
          data.isAdmin ?? false,
          new Date(now),
        ],
      )
    } catch (error) {
      if (isUniqueViolation(error, 'users_email_key')) throw emailInUse()
      throw error
    }
    if (data.apiKey) await this.#options.apiKeys.setDefault(tx, id, data.apiKey)
    await this.#options.plans.start(tx, id, data.plan)
    return this.#row(tx, id)
  }

  /** A user whose address an administrator vouches for. @throws AppError email_in_use */
  async createWithApiKey(data: { email: string; name?: string }): Promise<UserData & { apiKey: string }> {
    const apiKey = newApiKey()
    return this.#options.database.transaction(async (tx) => {
      const email = normalizeEmail(data.email)
      const row = await this.insert(tx, { email, name: data.name, emailVerified: true, apiKey })
      return { ...(await this.viewOf(tx, row)), apiKey: apiKey.key }
    })
  }

  /** @param sql the transaction that wrote the row, when it is not committed yet */
  async viewOf(sql: Sql, row: UserRow): Promise<UserData> {
    const { apiKeys, plans } = this.#options
    return userView(row, await plans.subscriptionOf(row.id, sql), await apiKeys.defaultPrefix(sql, row.id))
  }

  /** The user with an address, in whatever spelling. */
  async findByEmail(sql: Sql, address: string): Promise<UserRow | undefined> {
    return sql.row<UserRow>('select * from users where email = $1', [normalizeEmail(address)])
  }

  async profile(caller: Caller): Promise<UserData> {
    const { database } = this.#options
    return this.viewOf(database, await this.#row(database, caller.userId))
  }

  /** @param ifMatch the version that the caller has read. @throws AppError precondition_failed */
  async updateProfile(caller: Caller, changes: ProfileChanges, ifMatch: IfMatch): Promise<UserData> {
    return this.#change(caller, ifMatch, (user) => {
      const locale = changes.locale === undefined ? {} : { locale: Intl.getCanonicalLocales(changes.locale)[0] ?? 'en' }
      Object.assign(user, changes, locale)
    })
  }

  /** Notes how far the first steps have come. @throws AppError precondition_failed */
  async onboard(
    caller: Caller,
    { step, completed }: { step?: string; completed: boolean },
    ifMatch: IfMatch,
  ): Promise<UserData> {
    return this.#change(caller, ifMatch, (user) => {
      if (step !== undefined) user.onboardingStep = step
      user.onboardingCompletedAt = completed
        ? (user.onboardingCompletedAt ?? new Date(this.#options.clock.now()))
        : null
    })
  }

  async settings(caller: Caller): Promise<SettingsData> {
    const row = await this.#options.database.row<Pick<UserRow, 'settings' | 'settings_version'>>(
      'select settings, settings_version from users where id = $1',
      [caller.userId],
    )
    if (row === undefined) throw InvalidCredential()
    return { ...completeSettings(row.settings), version: row.settings_version }
  }

  /** Lays a change over one section of the settings. @throws AppError precondition_failed */
  async updateSettings(
    caller: Caller,
    section: keyof Settings,
    change: object,
    ifMatch: IfMatch,
  ): Promise<SettingsData> {
    return this.#options.database.transaction(async (tx) => {
      const user = await this.#locked(tx, caller)
      requireVersion(ifMatch, user.settingsVersion)
      user.settings = { ...user.settings, [section]: mergeDeep(user.settings[section] ?? {}, change) }
      user.settingsVersion += 1
      user.updatedAt = new Date(this.#options.clock.now())
      return { ...completeSettings(user.settings), version: user.settingsVersion }
    })
  }

  async #change(caller: Caller, ifMatch: IfMatch, apply: (user: User) => void): Promise<UserData> {
    return this.#options.database.transaction(async (tx) => {
      const user = await this.#locked(tx, caller)
      requireVersion(ifMatch, user.version)
      apply(user)
      user.version += 1
      user.updatedAt = new Date(this.#options.clock.now())
      await tx.em.flush()
      return this.viewOf(tx, await this.#row(tx, user.id))
    })
  }

  async #locked(tx: Transaction, caller: Caller): Promise<User> {
    const user = await tx.em.findOne(User, caller.userId, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (user === null) throw InvalidCredential()
    return user
  }

  async #row(sql: Sql, id: string): Promise<UserRow> {
    const row = await sql.row<UserRow>('select * from users where id = $1', [id])
    if (row === undefined) throw InvalidCredential()
    return row
  }
}

/** The 400 of an address that is taken, naming the field. */
export function emailInUse() {
  return EmailInUse({ errors: [{ path: '/body/email', code: 'in_use', message: 'is in use already' }] })
}
