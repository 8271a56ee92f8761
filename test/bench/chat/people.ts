import type { Client } from 'pg'
import { randomBytes } from 'node:crypto'
import { sha256, uuidv7 } from '../../../src/tools/id.ts'

/** Creates members of a workspace who can read and write. @returns their API keys */
export async function makeMembers(database: Client, workspaceId: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => `crier_${randomBytes(32).toString('base64url')}`)
  const ids = keys.map(() => uuidv7(Date.now()))
  await database.query(
    `with made as (select * from unnest($1::uuid[], $2::text[]) as made (id, hash)), people as (
       insert into users (id, email, email_verified, name, created_at, updated_at)
       select id, id || '@example.com', true, 'Member', now(), now() from made returning id
     )
     insert into api_keys (id, user_id, name, key_hash, prefix, is_default, created_at, updated_at)
     select id, id, 'Member', hash, 'crier_', true, now(), now() from made where id in (select id from people)`,
    [ids, keys.map(sha256)],
  )
  await database.query(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at)
     select $1, id, 'contributor', now(), now() from unnest($2::uuid[]) id`,
    [workspaceId, ids],
  )
  return keys
}
