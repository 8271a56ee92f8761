import type { Clock } from '../../../core/clock.ts'
import type { Caller } from '../../../core/caller.ts'
import { InvalidCredential } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import { Provided } from '../../../core/provided.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Database, Transaction } from '../../../db/database.ts'
import { increment } from '../../../db/increment.ts'
import { isUniqueViolation } from '../../../db/prepared-sql.ts'
import type { Changes } from '../../../db/table.ts'
import type { Foundation } from '../../../foundation.ts'
import { findUser } from './accounts.ts'
import { normalizeEmail } from './email-address.ts'
import { EmailInUse } from './errors.ts'
import type { ProfileChanges, SettingsData, UserData } from './schemas.ts'
import { completeSettings, mergeDeep, type Settings } from './settings.ts'
import type { PlanName, Subscriptions } from './subscription.ts'
import { users, type User, type UserRow } from './tables.ts'
import { userView } from './user-view.ts'

/** The API keys that users get by default. They belong to `auth`, which depends on users. */
export interface DefaultApiKeys {
  /** The first characters of a user's key, or null without one. */
  defaultPrefix(sql: Sql, userId: string): Promise<string | null>
  /** Gives a new user a key. @returns the key, which is shown once */
  issueDefault(sql: Sql, userId: string): Promise<string>
}

/** A new user. The address must be normalized. */
export interface NewUserData {
  readonly email: string
  readonly name?: string | undefined
  readonly passwordHash?: string
  readonly emailVerified?: boolean
  readonly isAdmin?: boolean
  /** The default plan when absent. */
  readonly plan?: PlanName
}

/** The profile and settings of users. */
export class UserService {
  readonly subscriptions = new Provided<Subscriptions>('the subscriptions of users')
  readonly apiKeys = new Provided<DefaultApiKeys>('the default API keys of users')
  readonly #clock: Clock
  readonly #database: Database

  constructor({ clock, database }: Pick<Foundation, 'clock' | 'database'>) {
    this.#clock = clock
    this.#database = database
  }

  /**
   * Creates a user, in the transaction of the caller.
   * @throws AppError email_in_use
   */
  async insert(tx: Transaction, data: NewUserData): Promise<UserRow> {
    const now = this.#clock.now()
    const id = uuidv7(now)
    try {
      const { email, emailVerified, isAdmin, name, passwordHash } = data
      const times = { createdAt: new Date(now), updatedAt: new Date(now) }
      await users.insert(tx, { id, email, name, passwordHash, emailVerified, isAdmin, ...times })
    } catch (error) {
      if (isUniqueViolation(error, 'users_email_key')) throw emailInUse()
      throw error
    }
    await this.subscriptions.get().start(tx, id, data.plan)
    return this.#row(tx, id)
  }

  /** Creates a verified user for an administrator, who vouches for the address. @throws AppError email_in_use */
  async createWithApiKey(data: { email: string; name?: string }): Promise<UserData & { apiKey: string }> {
    return this.#database.transaction(async (tx) => {
      const email = normalizeEmail(data.email)
      const row = await this.insert(tx, { email, name: data.name, emailVerified: true })
      const apiKey = await this.apiKeys.get().issueDefault(tx, row.id)
      return { ...(await this.viewOf(tx, row)), apiKey }
    })
  }

  /** The API's view of a user. @param sql the transaction that wrote the row, if it is not committed yet */
  async viewOf(sql: Sql, row: UserRow): Promise<UserData> {
    const subscription = await this.subscriptions.get().subscriptionOf(row.id, sql)
    return userView(row, subscription, await this.apiKeys.get().defaultPrefix(sql, row.id))
  }

  async profile(caller: Caller): Promise<UserData> {
    return this.viewOf(this.#database, await this.#row(this.#database, caller.userId))
  }

  /** @param ifMatch the version that the caller has read @throws AppError precondition_failed */
  async updateProfile(caller: Caller, changes: ProfileChanges, ifMatch: IfMatch): Promise<UserData> {
    const { locale } = changes
    const canonical = locale === undefined ? {} : { locale: Intl.getCanonicalLocales(locale)[0] ?? 'en' }
    return this.#change(caller, ifMatch, () => ({ ...changes, ...canonical }))
  }

  /** Records the caller's progress through onboarding. @throws AppError precondition_failed */
  async onboard(
    caller: Caller,
    { step, completed }: { step?: string; completed: boolean },
    ifMatch: IfMatch,
  ): Promise<UserData> {
    const now = new Date(this.#clock.now())
    return this.#change(caller, ifMatch, ({ onboardingCompletedAt }) => ({
      onboardingStep: step,
      onboardingCompletedAt: completed ? (onboardingCompletedAt ?? now) : null,
    }))
  }

  async settings(caller: Caller): Promise<SettingsData> {
    const row = await users.first(this.#database, { id: caller.userId }, { columns: ['settings', 'settingsVersion'] })
    if (row === undefined) throw InvalidCredential()
    return { ...completeSettings(row.settings), version: row.settingsVersion }
  }

  /** Merges a change into one section of the settings. @throws AppError precondition_failed */
  async updateSettings(
    caller: Pick<Caller, 'userId'>,
    section: keyof Settings,
    change: object,
    ifMatch: IfMatch,
  ): Promise<SettingsData> {
    return this.#database.transaction(async (tx) => {
      const { id, settings: before, settingsVersion } = await this.#row(tx, caller.userId, 'for update')
      requireVersion(ifMatch, settingsVersion)
      const settings = { ...before, [section]: mergeDeep(before[section] ?? {}, change) }
      const version = settingsVersion + 1
      await users.update(tx, { id }, { settings, settingsVersion: version, updatedAt: this.#now() })
      return { ...completeSettings(settings), version }
    })
  }

  async #change(
    caller: Caller,
    ifMatch: IfMatch,
    changesTo: (user: UserRow) => Changes<typeof User>,
  ): Promise<UserData> {
    return this.#database.transaction(async (tx) => {
      const before = await this.#row(tx, caller.userId, 'for update')
      requireVersion(ifMatch, before.version)
      const changes = { ...changesTo(before), version: increment(), updatedAt: this.#now() }
      const [after = before] = await users.updateReturning(tx, { id: before.id }, changes)
      return this.viewOf(tx, after)
    })
  }

  async #row(sql: Sql, id: string, lock?: 'for update'): Promise<UserRow> {
    const row = await findUser(sql, id, lock && { lock })
    if (row === undefined) throw InvalidCredential()
    return row
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}

/** The error for an email address that is in use. */
export function emailInUse() {
  return EmailInUse({
    errors: [
      {
        path: '/body/email',
        code: 'in_use',
        message: 'is already in use. Choose another one; if it is yours, log in or reset the password',
      },
    ],
  })
}
