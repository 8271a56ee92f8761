import type { Database } from '../../../src/db/database.ts'
import { uuidv7 } from '../../../src/tools/id.ts'
import { newApiKey } from '../../../src/domains/identity/auth/api-keys/keys.ts'
import { send } from '../../support/send.ts'

/** A user of the soak test, with their one channel. */
export interface Person {
  readonly id: string
  readonly apiKey: string
  readonly workspaceId: string
  readonly channelId: string
}

const WORKSPACES = 10

/**
 * Creates users, workspaces and private channels, with the users spread evenly and each in one channel. Users are
 * inserted directly; channels are created through the API.
 */
export async function makePeople(database: Database, url: string, people: number, channels: number): Promise<Person[]> {
  const now = new Date()
  const made = Array.from({ length: people }, () => ({ id: uuidv7(now.getTime()), ...newApiKey() }))
  await database.run(
    `with made as (select * from unnest($1::uuid[], $2::text[]) as made (id, hash)), people as (
       insert into users (id, email, email_verified, name, created_at, updated_at)
       select id, id || '@example.com', true, 'Soak', $3, $3 from made returning id
     ), plans as (
       insert into subscriptions (user_id, plan, status, anchor_at, created_at, updated_at)
       select id, 'business', 'active', $3, $3, $3 from people
     )
     insert into api_keys (id, user_id, name, key_hash, prefix, is_default, created_at, updated_at)
     select id, id, 'Soak', hash, 'crier_', true, $3, $3 from made where id in (select id from people)`,
    [made.map(({ id }) => id), made.map(({ hash }) => hash), now],
  )
  const result: Person[] = []
  const workspaces = new Map<number, string>()
  for (let index = 0; index < channels; index += 1) {
    const inside = made.filter((_, person) => person % channels === index)
    const [owner] = inside
    if (owner === undefined) continue
    const workspaceId = workspaces.get(index % WORKSPACES) ?? (await makeWorkspace(database, owner.id, now))
    workspaces.set(index % WORKSPACES, workspaceId)
    await database.run(
      `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at)
       select $1, id, 'admin', $3, $3 from unnest($2::uuid[]) as id on conflict do nothing`,
      [workspaceId, inside.map(({ id }) => id), now],
    )
    const { status, body, text } = await send(url, 'POST /api/team/{workspaceId}/channels', {
      apiKey: owner.key,
      path: { workspaceId },
      body: { kind: 'channel', name: `channel ${index}`, private: true, memberIds: inside.map(({ id }) => id) },
    })
    if (status !== 201) throw new Error(`a channel could not be created: ${text}`)
    const channelId: string = body.data._id
    result.push(...inside.map(({ id, key }) => ({ id, apiKey: key, workspaceId, channelId })))
  }
  return result
}

async function makeWorkspace(database: Database, ownerId: string, now: Date): Promise<string> {
  const id = uuidv7(now.getTime())
  await database.run(
    `insert into workspaces (id, owner_id, name, timezone, created_at, updated_at) values ($1, $2, 'Soak', 'UTC', $3, $3)`,
    [id, ownerId, now],
  )
  await database.run(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at) values ($1, $2, 'owner', $3, $3)`,
    [id, ownerId, now],
  )
  return id
}
