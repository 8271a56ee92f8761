import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { anyOf, atLeast } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { containing } from '../../../db/like.ts'
import { query } from '../../../db/query.ts'
import type { FindOptions } from '../../../db/table.ts'
import { normalizeEmail } from './email-address.ts'
import { users, type User, type UserRow } from './tables.ts'

type Options<K extends keyof UserRow> = Pick<FindOptions<typeof User, K>, 'columns' | 'lock'>

/** The user with an id. */
export function findUser<K extends keyof UserRow = keyof UserRow>(
  sql: Sql,
  id: string,
  options: Options<K> = {},
): Promise<Pick<UserRow, K> | undefined> {
  return users.first(sql, { id }, options)
}

/** The users with these ids, in no particular order. */
export function findUsers<K extends keyof UserRow = keyof UserRow>(
  sql: Sql,
  ids: readonly string[],
  options: Pick<Options<K>, 'columns'> = {},
): Promise<Pick<UserRow, K>[]> {
  return users.find(sql, { id: anyOf(ids) }, options)
}

const usersWithText = query({ users }, (db, $: { ids: readonly string[]; pattern: string }) =>
  db
    .selectFrom('users as u')
    .select('u.id')
    .where('u.id', '=', raw<string>`any(${$.ids}::uuid[])`)
    .where((e) => e.or([e('u.name', 'ilike', $.pattern), e('u.email', 'ilike', $.pattern)])),
)

/** Which of the users have a text in their name or email address. */
export async function searchUsers(sql: Sql, ids: readonly string[], text: string): Promise<string[]> {
  return (await usersWithText.rows(sql, { ids, pattern: containing(text) })).map(({ id }) => id)
}

/** The user with an email address, in any spelling. */
export function findUserByEmail<K extends keyof UserRow = keyof UserRow>(
  sql: Sql,
  address: string,
  options: Options<K> = {},
): Promise<Pick<UserRow, K> | undefined> {
  return users.first(sql, { email: normalizeEmail(address) }, options)
}

/**
 * Checks that a user still has this password hash, and keeps it from changing until the transaction ends.
 * @returns false when the password was changed since the hash was read
 */
export async function lockPassword(sql: Sql, id: string, passwordHash: string): Promise<boolean> {
  const row = await users.first(sql, { id, passwordHash }, { columns: ['id'], lock: 'for share' })
  return row !== undefined
}

/** Replaces the password of a user. */
export async function setPassword(sql: Sql, id: string, passwordHash: string, now: Date): Promise<void> {
  await users.update(sql, { id }, { passwordHash, credentialsChangedAt: now, version: increment(), updatedAt: now })
}

/** Marks the email address of a user as verified. */
export async function markEmailVerified(sql: Sql, id: string, now: Date): Promise<void> {
  const unverified = { id, emailVerified: false }
  await users.update(sql, unverified, { emailVerified: true, version: increment(), updatedAt: now })
}

/**
 * Removes the password and the name of a user whose address was never verified: somebody else may have chosen them.
 * @returns false, with nothing changed, for a verified user
 */
export async function resetUnverifiedUser(sql: Sql, id: string, now: Date): Promise<boolean> {
  const changed = await users.update(
    sql,
    { id, emailVerified: false },
    { passwordHash: null, name: '', credentialsChangedAt: now, version: increment(), updatedAt: now },
  )
  return changed > 0
}

/** Makes a user an administrator of the platform, with this password. */
export async function makeAdministrator(sql: Sql, id: string, passwordHash: string | null, now: Date): Promise<void> {
  await users.update(
    sql,
    { id },
    { isAdmin: true, passwordHash, credentialsChangedAt: now, version: increment(), updatedAt: now },
  )
}

/** The administrators of the platform with a confirmed address. */
export function findAdministrators(sql: Sql): Promise<Pick<UserRow, 'id' | 'email' | 'name' | 'locale'>[]> {
  return users.find(sql, { isAdmin: true, emailVerified: true }, { columns: ['id', 'email', 'name', 'locale'] })
}

/**
 * Removes everything that identifies a person from their account. The row stays, because invoices and what the person has
 * written for others refer to it.
 */
export async function eraseUser(sql: Sql, id: string, now: Date): Promise<void> {
  await users.update(
    sql,
    { id },
    {
      email: `${id}@deleted.invalid`,
      emailVerified: false,
      passwordHash: null,
      name: '',
      bio: '',
      timezone: 'UTC',
      locale: 'en',
      company: '',
      pictureId: null,
      isAdmin: false,
      onboardingStep: null,
      settings: {},
      credentialsChangedAt: now,
      version: increment(),
      updatedAt: now,
    },
  )
}

/** Records that something the user's profile shows has changed. @returns the user, if there is one */
export async function touchUser(sql: Sql, id: string, now: Date): Promise<UserRow | undefined> {
  const [row] = await users.updateReturning(sql, { id }, { version: increment(), updatedAt: now })
  return row
}

/** Records that credentials of a user have changed, for nodes that miss the notice (`announceCredentials`). */
export async function markCredentialsChanged(sql: Sql, id: string, now: Date): Promise<void> {
  await users.update(sql, { id }, { credentialsChangedAt: now })
}

/** Which of some files are profile pictures of users. */
export async function findPictures(sql: Sql, pictureIds: readonly string[]): Promise<string[]> {
  const rows = await users.find(sql, { pictureId: anyOf(pictureIds) }, { columns: ['pictureId'] })
  return rows.flatMap(({ pictureId }) => pictureId ?? [])
}

/** Ids of the users whose credentials have changed since a time. */
export async function usersWithChangedCredentials(sql: Sql, since: Date): Promise<string[]> {
  const rows = await users.find(sql, { credentialsChangedAt: atLeast(since) }, { columns: ['id'] })
  return rows.map(({ id }) => id)
}
