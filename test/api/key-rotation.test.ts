import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { connectAtSandbox } from '../support/sandbox-sign-in.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

/**
 * Encrypted columns that a rotation leaves as they are, with the reason. The installation's secret encrypts them
 * directly, and rotating the keys of the installation does not change the secret.
 */
const BY_SECRET: Readonly<Record<string, string>> = {
  'encryption_keys.sealed': 'the installation keys themselves',
  'social_sign_ins.secrets_sealed': 'used once, within ten minutes',
  'rtmp_destinations.key_sealed': 'a stream key for another server, not access to an account',
  'streams.key_sealed': 'a stream key of this server, which the user can replace',
  'streams.backup_key_sealed': 'a stream key of this server, which the user can replace',
  'streams.whip_token_sealed': 'a token for this server, which the user can replace',
  'totps.secret_sealed': 'the user can enrol the authenticator app again',
  'turn_outcomes.outcomes': 'kept for two minutes',
  'push_devices.subscription_sealed': 'lets this server send to a browser, and the browser can end it',
  'push_keys.private_key_sealed': 'a new key would end the subscriptions of all browsers',
  'webhooks.secret_sealed': 'signs what this server sends, and the user can rotate it',
  'webhooks.previous_secret_sealed': 'valid for a day after a rotation',
}

let app: App
let owner: SeededUser
let admin: SeededUser
let accountId: string
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  app = await startApp({ clock })
  owner = await seedUser(app, 'owner')
  admin = await seedUser(app, 'admin', { admin: true })
  const workspaceId = await seedWorkspace(app, 'Keys', owner)
  // An account at a server where the service registers its own app, a key for platforms, and that of an AI provider.
  accountId = await connectAtSandbox(app, { apiKey: owner.apiKey, workspaceId, platform: 'mastodon' })
  await app.composition.services.socialAccounts.keys.of('bluesky').list()
  const body = { baseUrl: 'https://ai.example.com/v1', key: 'sk-rotated', models: ['own'] }
  await app.send('PUT /api/workspaces/{workspaceId}/ai-provider', {
    apiKey: owner.apiKey,
    path: { workspaceId },
    body,
  })
})
afterAll(() => app.stop())

/** The tables whose rows have their own data keys. */
async function envelopeTables(): Promise<string[]> {
  const rows = await app.database.rows<{ name: string }>(
    `select table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'data_key_sealed' order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** The installation keys that the rows of a table use. */
async function keysIn(table: string): Promise<string[]> {
  const rows = await app.database.rows<{ key: string }>(`select distinct key_id as key from ${table} order by 1`)
  return rows.map(({ key }) => key)
}

async function contentOf(table: string): Promise<string[]> {
  return (await app.database.rows<{ sealed: string }>(`select sealed from ${table} order by 1`)).map(
    (row) => row.sealed,
  )
}

test('a rotation encrypts every data key again, and nothing that was encrypted with it changes', async () => {
  const tables = await envelopeTables()
  const before = new Map<string, string[]>()
  for (const table of tables) before.set(table, await contentOf(table))
  for (const [table, rows] of before) expect(rows.length, `a row in ${table}, for this test`).toBeGreaterThan(0)
  const list = () => app.composition.services.socialAccounts.keys.of('bluesky').list()
  const clientKeys = await list()
  const old = await app.database.rows<{ id: string }>('select id from encryption_keys')
  const reply = await app.send('POST /api/keys/rotate', { apiKey: admin.apiKey })
  expect(reply.status, reply.text).toBe(202)
  const { keyId } = reply.body.data as { keyId: string }
  for (const table of tables) {
    await waitFor(async () => (await keysIn(table)).join() === keyId, { what: `the new key in ${table}` })
    expect(await contentOf(table), table).toEqual(before.get(table))
  }
  clock.advance(HOUR + 1)
  expect(await app.composition.services.socialAccounts.vault.prune()).toBe(old.length)
  expect(await list()).toEqual(clientKeys)
  const refreshed = await app.send('POST /api/social-accounts/{id}/refresh', {
    apiKey: owner.apiKey,
    path: { id: accountId },
  })
  expect(refreshed.status, refreshed.text).toBe(200)
})

test('no encrypted column is left out of a rotation without a reason', async () => {
  const tables = new Set(await envelopeTables())
  const columns = await app.database.rows<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
     where table_schema = 'public'
       and (data_type = 'bytea' or column_name ~ '(sealed|encrypted|cipher)')
     order by 1, 2`,
  )
  const left = columns.filter(({ table }) => !tables.has(table)).map(({ column, table }) => `${table}.${column}`)
  expect(left).toEqual(Object.keys(BY_SECRET).toSorted())
})
