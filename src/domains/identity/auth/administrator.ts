import type { Transaction } from '../../../db/database.ts'
import type { Foundation } from '../../../foundation.ts'
import {
  announceCredentials,
  findUserByEmail,
  makeAdministrator,
  normalizeEmail,
  type UserRow,
  type UserService,
} from '../users/index.ts'
import type { PasswordHasher } from './passwords.ts'
import { evictStranger, markVerified } from './eviction.ts'
import type { Sessions } from './sessions.ts'

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'log'> & {
  readonly users: UserService
  readonly sessions: Sessions
  readonly hasher: PasswordHasher
}

/** An arbitrary number for the advisory lock, which makes nodes that start together run this one after the other. */
const LOCK = 0x61_64_6d_69

/**
 * Ensures that the platform administrator of the configuration exists, is verified and has the configured password. A
 * new password ends all sessions. A new administrator gets the largest plan.
 */
export async function ensureAdministrator(
  options: Dependencies,
  administrator: { readonly email: string; readonly password: string },
): Promise<void> {
  const { coordination, database, hasher, log, users } = options
  const email = normalizeEmail(administrator.email)
  const changed = await database.transaction(async (tx) => {
    // Raw SQL, because an advisory lock does not refer to a table.
    await tx.run('select pg_advisory_xact_lock($1)', [LOCK])
    const existing = await findUserByEmail(tx, email)
    if (existing !== undefined) return update(tx, options, existing, administrator.password)
    const passwordHash = await hasher.hash(administrator.password)
    const { id } = await users.insert(tx, {
      email,
      name: 'Administrator',
      passwordHash,
      emailVerified: true,
      isAdmin: true,
      plan: 'business',
    })
    return id
  })
  if (changed === undefined) return
  announceCredentials(coordination, { kind: 'user', userId: changed })
  log.info({ userId: changed }, 'the administrator of the configuration was set up')
}

async function update(
  tx: Transaction,
  { clock, hasher, sessions }: Dependencies,
  existing: UserRow,
  password: string,
): Promise<string | undefined> {
  const samePassword = await hasher.verify(existing.passwordHash, password)
  if (samePassword && existing.isAdmin && existing.emailVerified) return undefined
  const now = new Date(clock.now())
  await evictStranger(tx, sessions, existing.id, now)
  await markVerified(tx, existing.id, now)
  const passwordHash = samePassword && existing.emailVerified ? existing.passwordHash : await hasher.hash(password)
  await makeAdministrator(tx, existing.id, passwordHash, now)
  if (!samePassword) await sessions.revokeAll(tx, existing.id, 'password')
  return existing.id
}
