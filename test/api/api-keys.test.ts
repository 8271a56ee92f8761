import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { sha256 } from '../../src/tools/id.ts'
import { startApp, type App } from '../support/app.ts'
import { signIn, tryCredential, type SignedInPerson } from '../support/people.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

/** API keys: scopes, workspaces, expiry, revocation and audit. */

let app: App
const clock = new ManualClock()
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ clock, env: { TRUST_PROXY: '1' } })
})
afterEach(() => sockets.end())
afterAll(() => app.stop())

async function workspaceOf(apiKey: string, name = 'Acme'): Promise<string> {
  const reply = await app.send('POST /api/workspaces', { apiKey, body: { name, timezone: 'UTC' } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

async function newKey({ apiKey }: SignedInPerson, body: object = {}) {
  const reply = await app.send('POST /api/users/me/api-keys', { apiKey, body: { name: 'Import', ...body } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as { _id: string; apiKey: string; prefix: string; version: number }
}

const listed = async ({ apiKey }: SignedInPerson) =>
  (await app.send('GET /api/users/me/api-keys', { apiKey })).body.data as Record<string, unknown>[]
const update = (ada: SignedInPerson, id: string, body: object, headers = {}) =>
  app.send('PATCH /api/users/me/api-keys/{id}', { apiKey: ada.apiKey, path: { id }, body, headers })
const revoke = (ada: SignedInPerson, id: string) =>
  app.send('DELETE /api/users/me/api-keys/{id}', { apiKey: ada.apiKey, path: { id } })
const getWorkspace = (apiKey: string, workspaceId: string) =>
  app.send('GET /api/workspaces/{workspaceId}', { apiKey, path: { workspaceId } })
const rename = (apiKey: string, workspaceId: string) =>
  app.send('PATCH /api/workspaces/{workspaceId}', { apiKey, path: { workspaceId }, body: { name: 'Renamed' } })

test('shows a new key once, stores its digest, lists its last use and mails the owner', async () => {
  const ada = await signIn(app)
  const made = await newKey(ada)
  expect(made.apiKey).toMatch(/^crier_[\w-]{43}$/)
  expect((await app.outbox.newest(ada.email, /API key/)).text).toContain('“Import”')
  const row = await app.database.row<{ key_hash: string; text: string }>(
    'select key_hash, k::text as text from api_keys k where id = $1',
    [made._id],
  )
  expect(row?.key_hash).toBe(sha256(made.apiKey))
  expect(row?.text).not.toContain(made.apiKey)
  const [newest, first] = await listed(ada)
  expect(newest).toMatchObject({ _id: made._id, name: 'Import', isDefault: false, scopes: null, lastUsedAt: null })
  expect(first).toMatchObject({ isDefault: true, prefix: ada.apiKey.slice(0, 12) })
  expect(JSON.stringify([newest, first])).not.toContain(made.apiKey)
  clock.advance(MINUTE)
  const usedAt = new Date(clock.now()).toISOString()
  await app.send('GET /api/users/me', { apiKey: made.apiKey, headers: { 'X-Forwarded-For': '192.0.2.44' } })
  await waitFor(async () => (await listed(ada))[0]?.['lastUsedAt'] === usedAt, { what: 'the last use of the key' })
  expect((await listed(ada))[0]).toMatchObject({ lastUsedAddress: '192.0.2.44' })
})

describe('a restricted key', () => {
  test('gives access only to its workspaces', async () => {
    const ada = await signIn(app)
    const [here, there] = [await workspaceOf(ada.apiKey), await secondWorkspace(ada)]
    const { apiKey } = await newKey(ada, { workspaceIds: [here] })
    expect((await getWorkspace(apiKey, here)).status).toBe(200)
    expect((await getWorkspace(apiKey, there)).status).toBe(404)
    expect((await rename(apiKey, there)).status).toBe(404)
    const seen = await app.send('GET /api/workspaces', { apiKey })
    expect(seen.body.data.map(({ _id }: { _id: string }) => _id)).toEqual([here])
  })

  test('gives access only to its scopes, including in turns', async () => {
    const ada = await signIn(app)
    const workspaceId = await workspaceOf(ada.apiKey)
    const { apiKey } = await newKey(ada, { scopes: ['team:read'] })
    expect((await getWorkspace(apiKey, workspaceId)).body.data.scopes).toEqual(['team:read'])
    expect((await app.send('GET /api/workspaces', { apiKey })).body.data[0].scopes).toEqual(['team:read'])
    const refused = await rename(apiKey, workspaceId)
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    expect(refused.body.message).toContain('API key')
  })

  test('cannot create keys, extend its own limits or grant scopes that it lacks', async () => {
    const ada = await signIn(app)
    const workspaceId = await workspaceOf(ada.apiKey)
    const { _id, apiKey } = await newKey(ada, { scopes: ['team:read', 'team:manage'] })
    const made = await app.send('POST /api/users/me/api-keys', { apiKey, body: { name: 'More' } })
    expect(made.body.code).toBe('api_key_limited')
    const widened = await app.send('PATCH /api/users/me/api-keys/{id}', {
      apiKey,
      path: { id: _id },
      body: { scopes: null },
    })
    expect(widened.body.code).toBe('api_key_limited')
    const invite = (role: string) =>
      app.send('POST /api/team/{workspaceId}/invitations', {
        apiKey,
        path: { workspaceId },
        body: { email: `${role}.${workspaceId}@example.com`, role },
      })
    expect((await invite('owner')).body.code).toBe('owners_only')
    expect((await invite('admin')).body.code).toBe('cannot_grant')
  })

  test('receives socket events of its workspaces only, even after these change', async () => {
    const ada = await signIn(app)
    const [here, there] = [await workspaceOf(ada.apiKey), await secondWorkspace(ada)]
    const key = await newKey(ada, { workspaceIds: [here] })
    const [unlimited, limited] = [await sockets.connect(ada.apiKey), await sockets.connect(key.apiKey)]
    const received = (listening: typeof unlimited) =>
      listening.events.filter(({ name }) => name === 'workspace.updated').map(({ data }) => data.workspaceId)
    await rename(ada.apiKey, there)
    await rename(ada.apiKey, here)
    await waitFor(() => received(unlimited).length === 2 && received(limited).length === 1, { what: 'the events' })
    expect(received(limited)).toEqual([here])
    expect((await update(ada, key._id, { workspaceIds: [there] })).status).toBe(200)
    await waitFor(
      async () => {
        await rename(ada.apiKey, there)
        return received(limited).includes(there)
      },
      { what: 'events of the other workspace' },
    )
    const before = received(limited).filter((id) => id === here).length
    await rename(ada.apiKey, here)
    await rename(ada.apiKey, there)
    await waitFor(() => received(unlimited).at(-1) === there && received(limited).at(-1) === there, {
      what: 'the last event',
    })
    expect(received(limited).filter((id) => id === here)).toHaveLength(before)
  })
})

/** The owner's plan allows a second workspace. */
async function secondWorkspace(ada: SignedInPerson): Promise<string> {
  await app.composition.services.plans.change(ada.id, 'business')
  return workspaceOf(ada.apiKey, 'Second')
}

describe('a key', () => {
  test('expires', async () => {
    const ada = await signIn(app)
    const expiresAt = new Date(clock.now() + HOUR).toISOString()
    const { apiKey } = await newKey(ada, { expiresAt })
    expect(await tryCredential(app, { apiKey })).toBe('200')
    clock.advance(HOUR)
    expect(await tryCredential(app, { apiKey })).toBe('401 credential_expired')
  })

  test('stops working immediately when revoked, including on sockets, while other keys keep working', async () => {
    const ada = await signIn(app)
    const [one, two] = [await newKey(ada), await newKey(ada)]
    const listening = await sockets.connect(one.apiKey)
    expect((await revoke(ada, one._id)).status).toBe(200)
    expect(await tryCredential(app, { apiKey: one.apiKey })).toBe('401 invalid_credential')
    await waitFor(() => !listening.socket.connected, { what: 'the socket to be disconnected' })
    expect(await tryCredential(app, { apiKey: two.apiKey })).toBe('200')
    expect((await revoke(ada, one._id)).status).toBe(404)
    expect((await revoke(await signIn(app), two._id)).status).toBe(404)
  })

  test('keeps working when the default key is replaced', async () => {
    const ada = await signIn(app)
    const { apiKey } = await newKey(ada)
    const next = await app.send('POST /api/users/me/api-key', { token: ada.accessToken })
    expect(await tryCredential(app, { apiKey })).toBe('200')
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('401 invalid_credential')
    expect((await listed({ ...ada, apiKey: next.body.data.apiKey })).filter(({ isDefault }) => isDefault)).toHaveLength(
      1,
    )
  })

  test('is updated only when If-Match names the current version', async () => {
    const ada = await signIn(app)
    const { _id, version } = await newKey(ada)
    expect((await update(ada, _id, { name: 'Export' }, { 'If-Match': `"${version}"` })).body.data.name).toBe('Export')
    expect((await update(ada, _id, { name: 'Late' }, { 'If-Match': `"${version}"` })).status).toBe(412)
  })

  test('rejects a workspace of another user and an expiry in the past', async () => {
    const ada = await signIn(app)
    const foreign = await workspaceOf((await signIn(app)).apiKey)
    const faults = async (body: object) => {
      const reply = await app.send('POST /api/users/me/api-keys', { apiKey: ada.apiKey, body: { name: 'x', ...body } })
      return [reply.status, reply.body.errors?.[0]?.path]
    }
    expect(await faults({ workspaceIds: [foreign] })).toEqual([400, '/body/workspaceIds/0'])
    expect(await faults({ expiresAt: new Date(clock.now()).toISOString() })).toEqual([400, '/body/expiresAt'])
    expect(await faults({ expiresAt: '9999-12-31T23:59:59-12:00' })).toEqual([400, '/body/expiresAt'])
  })

  test('rejects a 51st key', async () => {
    const ada = await signIn(app)
    for (let count = 1; count < 50; count += 1) await newKey(ada)
    const reply = await app.send('POST /api/users/me/api-keys', { apiKey: ada.apiKey, body: { name: 'x' } })
    expect([reply.status, reply.body.code]).toEqual([409, 'too_many_api_keys'])
  })
})

test('records changes and uses of a key in the audit log of its workspaces', async () => {
  const ada = await signIn(app)
  const [here, there] = [await workspaceOf(ada.apiKey), await secondWorkspace(ada)]
  const key = await newKey(ada, { scopes: ['workspace:manage'], workspaceIds: [here] })
  await rename(key.apiKey, here)
  await update(ada, key._id, { name: 'Export' })
  await revoke(ada, key._id)
  const log = async (workspaceId: string) => {
    const reply = await app.send('GET /api/workspaces/{workspaceId}/audit-log', {
      apiKey: ada.apiKey,
      path: { workspaceId },
    })
    return reply.body.data as { action: string; apiKeyId: string | null; target: object; details: object }[]
  }
  const entries = await log(here)
  expect(entries.map(({ action }) => action)).toEqual([
    'revokeApiKey',
    'updateApiKey',
    'updateWorkspace',
    'createApiKey',
    'createWorkspace',
  ])
  expect(entries[2]?.apiKeyId).toBe(key._id)
  expect(entries[0]?.apiKeyId).not.toBe(key._id)
  expect(entries[3]).toMatchObject({
    target: { kind: 'api_key', _id: key._id },
    details: { name: 'Import', scopes: ['workspace:manage'] },
  })
  expect((await log(there)).map(({ action }) => action)).toEqual(['createWorkspace'])
})
