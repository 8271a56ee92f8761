import type { Client } from 'pg'
import { randomBytes } from 'node:crypto'
import { sha256, uuidv7 } from '../../../src/core/id.ts'

/** Makes members of a workspace, who may read and write. @returns their API keys */
export async function makeMembers(database: Client, workspaceId: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => `crier_${randomBytes(32).toString('base64url')}`)
  const ids = keys.map(() => uuidv7(Date.now()))
  await database.query(
    `insert into users (id, email, name, password_hash, settings, api_key_hash, api_key_prefix, created_at, updated_at)
     select id, id || '@example.com', 'Member', '-', '{}', hash, 'crier_', now(), now() from unnest($1::uuid[], $2::text[]) as t (id, hash)`,
    [ids, keys.map(sha256)],
  )
  await database.query(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at)
     select $1, id, 'contributor', now(), now() from unnest($2::uuid[]) id`,
    [workspaceId, ids],
  )
  return keys
}
