import type { Sql } from '../../../core/sql.ts'
import { findUsers } from '../../identity/users/index.ts'

/** A user, as they are named beside what they did. */
export interface Actor {
  readonly _id: string
  readonly name: string
  readonly email: string
}

/** The users with these ids. Users who no longer exist are left out. */
export async function findActors(sql: Sql, ids: readonly (string | null)[]): Promise<ReadonlyMap<string, Actor>> {
  const known = [...new Set(ids.filter((id) => id !== null))]
  if (known.length === 0) return new Map()
  const users = await findUsers(sql, known, { columns: ['id', 'name', 'email'] })
  return new Map(users.map(({ email, id, name }) => [id, { _id: id, name, email }]))
}
