import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { fromBuffer, type Entry, type Options, type ZipFile } from 'yauzl'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { personalData } from '../../src/registry/personal.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import type { SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** The export of everything that is held on a person, and the deletion of accounts. */

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'))
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob')
})
afterAll(() => app?.stop())

describe('every column that names a user', () => {
  const columns = () =>
    app.database.rows<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns
       where table_schema = 'public' and data_type = 'uuid'
         and (column_name ~ '(^|_)(user|owner|actor|author|assignee|sender|recipient|voter|reporter)_id$' or column_name ~ '_by$')
       union
       select rel.relname || '.' || att.attname from pg_constraint con
         join pg_class rel on rel.oid = con.conrelid
         join pg_attribute att on att.attrelid = con.conrelid and att.attnum = con.conkey[1]
       where con.contype = 'f' and con.confrelid = 'users'::regclass`,
    )

  test('says whether it is exported and what happens when the account is deleted', async () => {
    const found = (await columns()).map(({ name }) => name)
    expect(found.length).toBeGreaterThan(40)
    expect(
      found.filter((name) => !Object.hasOwn(personalData, name)),
      'declare them in `personal` of their domains',
    ).toEqual([])
  })

  test('exists, and leaves out secrets', async () => {
    const rows = await app.database.rows<{ name: string; column: string }>(
      `select table_name as name, column_name as column from information_schema.columns where table_schema = 'public'`,
    )
    const byTable = Map.groupBy(rows, ({ name }) => name)
    const files = new Set<string>()
    for (const [name, { export: exported, through }] of Object.entries(personalData)) {
      const [table = '', column = ''] = name.split('.')
      const there = (byTable.get(table) ?? []).map((row) => row.column)
      expect(there, name).toContain(column)
      if (through !== undefined) expect(Object.keys(personalData), name).toContain(through)
      if (!('file' in exported)) continue
      const { file, key = ['id'], omit = [] } = exported
      expect(files, `${name}: another table has this file`).not.toContain(file)
      files.add(file)
      expect(there, name).toEqual(expect.arrayContaining([...key, ...omit]))
      const shown = there.filter((one) => !omit.includes(one))
      expect(
        shown.filter((one) => /secret|sealed|_hash|token|passcode|^password/.test(one)),
        name,
      ).toEqual([])
    }
  })
})

describe('the export', () => {
  test('has a described file for each kind of data, and nothing of others or secret', async () => {
    const channel = await world.as('ada').call('POST /api/team/{workspaceId}/channels', {
      path: { workspaceId: world.id('acme') },
      body: { kind: 'channel', name: 'launch' },
    })
    const channelId = channel.body.data._id
    const say = (as: string, body: string) =>
      world.as(as).call('POST /api/team/{workspaceId}/channels/{channelId}/messages', {
        path: { workspaceId: world.id('acme'), channelId },
        body: { body, clientId: `${as}-${body.length}` },
      })
    expect((await say('ada', 'written by Ada')).status).toBe(201)
    expect((await say('bob', 'by Bob, who is someone else')).status).toBe(201)
    const files = await exportOf('ada')
    const manifest = JSON.parse(files.get('manifest.json') ?? '')
    for (const { about, name } of manifest.files) {
      expect(files.get('README.txt'), name).toContain(`${name}: ${about}.`)
      expect(Array.isArray(JSON.parse(files.get(name) ?? '')), name).toBe(true)
    }
    expect(JSON.parse(files.get('profile.json') ?? '')).toMatchObject({ email: 'ada@example.com', name: 'ada' })
    expect(JSON.parse(files.get('messages.json') ?? '').map((row: { body: string }) => row.body)).toEqual([
      'written by Ada',
    ])
    expect(JSON.parse(files.get('api-keys.json') ?? '')).toHaveLength(1)
    const all = [...files.values()].join('\n')
    expect(all).not.toMatch(/by Bob|bob@example\.com|argon2/)
    expect(all).not.toContain(world.key('ada'))
  })

  test('has the files that the person has uploaded, while they are a member', async () => {
    await world.user('fay', { plan: 'business' })
    await world.workspace('films', 'fay')
    await world.member('acme', 'fay')
    for (const name of ['films', 'acme']) {
      const file = { name: `../${name}.png`, content: PIXEL, type: 'image/png' }
      const body = { workspaceId: world.id(name) }
      const reply = await world.as('fay').call('POST /api/assets/upload', { body, file })
      expect(reply.status, reply.text).toBe(201)
    }
    const picture = { name: 'me.png', content: PIXEL, type: 'image/png' }
    expect((await world.as('fay').call('POST /api/users/me/picture', { file: picture })).status).toBe(201)
    const path = { workspaceId: world.id('acme'), userId: world.id('fay') }
    const removed = await world.as('ada').call('DELETE /api/team/{workspaceId}/members/{userId}', { path })
    expect(removed.status, removed.text).toBe(200)
    const files = await exportOf('fay')
    const names = [...files.keys()].filter((name) => name.startsWith('content/files/'))
    expect(names).toEqual([expect.stringMatching(/^content\/files\/[0-9a-f-]{36}-[^/]*films\.png$/)])
    expect(files.get(names[0] ?? '')).toContain('PNG')
    expect(files.get('content/profile-picture.webp')).toContain('WEBP')
    expect(JSON.parse(files.get('content/missing.json') ?? '')).toEqual([])
  })

  test('contains every row, over several batches', async () => {
    await world.user('many')
    const id = world.id('many')
    await app.database.run(
      `insert into sessions (id, user_id, secret, generation, rotated_at, method, remote_address, user_agent, created_at, last_used_at, expires_at)
       select gen_random_uuid(), $1, 'hidden', 1, now(), 'password', '127.0.0.1', 'row ' || n, now(), now(), now() from generate_series(1, 1234) n`,
      [id],
    )
    const sessions = JSON.parse((await exportOf('many')).get('sessions.json') ?? '')
    expect(new Set(sessions.map((row: { user_agent: string }) => row.user_agent)).size).toBeGreaterThanOrEqual(1234)
    expect(JSON.stringify(sessions)).not.toContain('hidden')
  })
})

describe('the deletion of an account', () => {
  const login = async ({ email, password }: SeededUser) =>
    (await app.send('POST /api/auth/login', { body: { email, password } })).body.data
  const remove = (token: string, body: object = {}) => app.send('DELETE /api/users/me', { token, body })
  const run = () => app.composition.services.dataRights.deletions.deleteDue(new AbortController().signal)

  test('needs the password or a fresh login, ends all access, and can be taken back for 30 days', async () => {
    const user = await world.user('carol')
    const byKey = await app.send('DELETE /api/users/me', { apiKey: user.apiKey })
    expect([byKey.status, byKey.body.code]).toEqual([403, 'fresh_login_needed'])
    const { accessToken } = await login(user)
    clock.advance(10 * MINUTE + 1)
    const stale = await login(user)
    expect((await remove(stale.accessToken, { password: 'not it' })).body.code).toBe('wrong_password')
    const old = await app.send('DELETE /api/users/me', { token: accessToken })
    expect([401, 403]).toContain(old.status)
    const planned = await remove(stale.accessToken)
    expect(planned.status, planned.text).toBe(200)
    expect(Date.parse(planned.body.data.deleteAt) - clock.now()).toBe(30 * DAY)
    expect((await app.send('GET /api/users/me', { apiKey: user.apiKey })).status).toBe(401)
    expect((await app.send('GET /api/users/me', { token: stale.accessToken })).status).toBe(401)
    clock.advance(DAY)
    const back = await login(user)
    const again = await remove(back.accessToken, { password: user.password })
    expect(again.body.data).toEqual(planned.body.data)
    const kept = await login(user)
    expect((await app.send('POST /api/users/me/deletion/cancel', { token: kept.accessToken })).status).toBe(200)
    clock.advance(30 * DAY)
    await run()
    const after = await login(user)
    expect((await app.send('GET /api/users/me/deletion', { token: after.accessToken })).body.data.deleteAt).toBeNull()
  })

  test('leaves nothing that identifies the person, and keeps what belongs to others', async () => {
    const dave = await world.user('dave')
    const eve = await world.user('eve', { plan: 'free' })
    await world.workspace('alone', 'dave')
    await world.workspace('shared', 'eve')
    const connected = await world.as('dave').call('POST /api/social-accounts', {
      body: { workspaceId: world.id('alone'), platform: 'mastodon', sandbox: true },
    })
    expect(connected.status, connected.text).toBe(201)
    const { directory } = app.composition.services.socialAccounts
    const revoke = vi.spyOn(directory.require('mastodon').platform, 'revoke')
    await world.member('shared', 'dave', { role: 'owner' })
    await app.database.run('update workspaces set owner_id = $1 where id = $2', [dave.id, world.id('shared')])
    expect((await remove((await login(dave)).accessToken, { password: dave.password })).status).toBe(200)
    await run()
    expect(
      (
        await app.send('GET /api/workspaces/{workspaceId}', {
          apiKey: eve.apiKey,
          path: { workspaceId: world.id('shared') },
        })
      ).status,
    ).toBe(200)
    clock.advance(30 * DAY)
    while ((await run()) > 0);
    await app.composition.services.workspaces.service.purgeDue()
    await waitFor(() => revoke.mock.settledResults[0]?.type === 'fulfilled')
    expect(revoke).toHaveBeenCalledOnce()
    expect(revoke.mock.calls[0]?.[0]).toMatchObject({ credential: { accessToken: expect.any(String) } })
    revoke.mockRestore()
    expect(
      (await app.send('POST /api/auth/login', { body: { email: dave.email, password: dave.password } })).status,
    ).toBe(401)
    const [row] = await app.database.rows<{ email: string; name: string; password_hash: null }>(
      'select email, name, password_hash from users where id = $1',
      [dave.id],
    )
    expect(row).toEqual({ email: `${dave.id}@deleted.invalid`, name: '', password_hash: null })
    for (const [name, { deletion, through }] of Object.entries(personalData)) {
      if (deletion !== 'deleted' || through !== undefined) continue
      const [table, column] = name.split('.')
      const left = await app.database.row<{ count: number }>(
        `select count(*) as count from ${table} where ${column} = $1`,
        [dave.id],
      )
      expect(left?.count, name).toBe(0)
    }
    const workspaces = await app.database.rows<{ id: string; owner_id: string }>(
      'select id, owner_id from workspaces where id = any($1::uuid[])',
      [[world.id('alone'), world.id('shared')]],
    )
    expect(workspaces).toEqual([{ id: world.id('shared'), owner_id: eve.id }])
    const members = await world
      .as('eve')
      .call('GET /api/team/{workspaceId}/members', { path: { workspaceId: world.id('shared') } })
    expect(members.body.data.map((member: { _id: string }) => member._id)).toEqual([eve.id])
    expect(
      (await app.send('POST /api/auth/signup', { body: { email: dave.email, password: 'a completely new phrase' } }))
        .status,
    ).toBe(201)
  })
})

async function exportOf(name: string): Promise<Map<string, string>> {
  const response = await fetch(`${app.url}/api/users/me/export`, { headers: { 'X-API-Key': world.key(name) } })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-disposition')).toMatch(
    /^attachment; filename="crier-data-\d{4}-\d\d-\d\d\.zip"$/,
  )
  return unzipped(Buffer.from(await response.arrayBuffer()))
}

async function unzipped(archive: Buffer): Promise<Map<string, string>> {
  const open = promisify<Buffer, Options, ZipFile>(fromBuffer)
  const zip = await open(archive, { lazyEntries: true, autoClose: false })
  const read = promisify(zip.openReadStream.bind(zip) as (entry: Entry, done: Opened) => void)
  const files = new Map<string, string>()
  for (let left = zip.entryCount; left > 0; left -= 1) {
    const entry = once(zip, 'entry') as Promise<[Entry]>
    zip.readEntry()
    const [found] = await entry
    files.set(found.fileName, await text(await read(found)))
  }
  return files
}

type Opened = (error: Error | null, stream: Readable) => void
