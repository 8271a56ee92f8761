import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Database } from '../../../db/database.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { PlatformError } from '../../../platforms/error-kinds.ts'
import type { Credential, RefreshStyle } from '../../../platforms/platform.ts'
import { startApp, type App } from '../../../../test/support/app.ts'
import { seedUser, seedWorkspace } from '../../../../test/support/seed.ts'
import { encryptionKeys, socialAccounts, socialCredentials, type SocialAccountRow } from './tables.ts'
import { TokenRefresher } from './token-refresher.ts'
import { CredentialVault } from './vault.ts'
import { accountView } from './views.ts'

let app: App
let sql: Database
let workspaceId: string
let ownerId: string
const clock = new ManualClock()
const broken: string[] = []
/** The refresh tokens that the platform accepts. */
let valid: Set<string>
let refreshes: number
let style: RefreshStyle
/** The results of the next refreshes, in order. */
let faults: ('lost' | 'down' | 'empty')[]
/** Runs while the platform handles a refresh. */
let meanwhile: () => Promise<void>

beforeAll(async () => {
  app = await startApp()
  sql = app.database
  const owner = await seedUser(app, 'owner')
  ownerId = owner.id
  workspaceId = await seedWorkspace(app, 'Tokens', owner)
})
afterAll(() => app.stop())
beforeEach(() => {
  broken.length = 0
  refreshes = 0
  style = 'single_use'
  faults = []
  meanwhile = async () => undefined
  valid = new Set(['refresh-0'])
})

/** A platform that gives a new refresh token with each refresh. */
async function refresh({ credential }: { credential: Credential }): Promise<Credential> {
  const fault = faults.shift()
  if (fault === 'down') throw new PlatformError('server_error', 'Test', { mayHaveHappened: false, httpStatus: 503 })
  const given = credential.refreshToken ?? ''
  if (!valid.has(given)) throw new PlatformError('auth_expired', 'Test', { code: 'invalid_grant', detail: 'revoked' })
  if (style === 'single_use') valid.delete(given)
  refreshes += 1
  const next = `refresh-${refreshes}`
  valid.add(next)
  await meanwhile()
  if (fault === 'lost') throw new PlatformError('network', 'Test', { mayHaveHappened: true })
  return {
    accessToken: `access-${refreshes}`,
    refreshToken: fault === 'empty' ? '' : style === 'single_use' ? next : given,
    expiresAt: clock.now() + HOUR,
  }
}

function refresher(): TokenRefresher {
  const platform = {
    key: 'test',
    title: 'Test',
    oauth: {
      refresh,
      get refreshStyle() {
        return style
      },
    },
  }
  const entry = { platform, settings: {}, configured: true }
  const directory = { find: () => entry, context: () => ({ clock }) } as unknown as PlatformDirectory
  return new TokenRefresher(sql, clock, vault(), directory, {
    refreshed: async () => undefined,
    broken: async (_account, reason) => void broken.push(reason),
  })
}

function vault(): CredentialVault {
  return new CredentialVault(sql, clock, 'the secret of the installation')
}

/** An account whose access token has expired. */
async function account(): Promise<SocialAccountRow> {
  const at = new Date(clock.now()).toISOString()
  const made = {
    id: uuidv7(clock.now()),
    workspaceId,
    platform: 'test',
    remoteId: randomUUID(),
    loginId: null,
    name: 'Test',
    handle: null,
    avatarUrl: null,
    url: null,
    kind: 'person',
    status: 'connected',
    statusReason: null,
    brokenReason: null,
    scopes: null,
    expiresAt: null,
    refreshAt: null,
    sandbox: false,
    sharesLogin: false,
    remindedDays: null,
    connectedBy: ownerId,
    connectedAt: at,
    checkedAt: at,
    archivedAt: null,
    archivedByPlan: false,
    suspendedAt: null,
    removedAt: null,
    createdAt: at,
    updatedAt: at,
  } as const
  const row: SocialAccountRow = { ...made, missingScopes: [], view: accountView({ ...made, missingScopes: [] }) }
  await socialAccounts.insert(sql, row)
  const credential = { accessToken: 'access-0', refreshToken: 'refresh-0', expiresAt: clock.now() - 1 }
  const sealed = await vault().seal(credential)
  await socialCredentials.insert(sql, {
    accountId: row.id,
    ...sealed,
    version: 1,
    leaseToken: null,
    leaseUntil: null,
    updatedAt: at,
  })
  return row
}

describe('TokenRefresher', () => {
  test('refreshes an expired single-use token once for 50 callers on two nodes', async () => {
    const row = await account()
    const [first, second] = [refresher(), refresher()]
    const calls = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? first : second).credentialOf(row))
    const all = await Promise.all(calls)
    expect(refreshes).toBe(1)
    expect(new Set(all.map((credential) => credential.accessToken))).toEqual(new Set(['access-1']))
  })

  test('uses a token that is still valid', async () => {
    const row = await account()
    await refresher().credentialOf(row)
    await refresher().credentialOf(row)
    expect(refreshes).toBe(1)
  })

  test('keeps the refresh token when the platform sends an empty one', async () => {
    style = 'reusable'
    faults = ['empty']
    const row = await account()
    await refresher().credentialOf(row)
    const stored = await socialCredentials.first(sql, { accountId: row.id })
    expect(stored && (await vault().open(stored))).toMatchObject({ accessToken: 'access-1', refreshToken: 'refresh-0' })
  })

  test('an outage of the platform does not break the account', async () => {
    faults = ['down']
    const row = await account()
    await expect(refresher().credentialOf(row)).rejects.toMatchObject({ kind: 'server_error' })
    expect(broken).toEqual([])
    expect(await refresher().credentialOf(row)).toMatchObject({ accessToken: 'access-1' })
  })

  test('repeats a refresh whose reply was lost, where tokens can be used again', async () => {
    style = 'reusable'
    faults = ['lost']
    const row = await account()
    expect(await refresher().credentialOf(row)).toMatchObject({ accessToken: 'access-2' })
    expect(broken).toEqual([])
  })

  test('the user must connect again when the reply with the only new token was lost', async () => {
    faults = ['lost']
    const row = await account()
    await expect(refresher().credentialOf(row)).rejects.toMatchObject({
      kind: 'auth_expired',
      code: 'refresh_reply_lost',
    })
    expect(broken).toEqual([expect.stringContaining('was lost on the way')])
  })

  test('the user must connect again when the grant was revoked', async () => {
    valid.clear()
    const row = await account()
    await expect(refresher().credentialOf(row)).rejects.toMatchObject({ kind: 'auth_expired' })
    expect(broken).toEqual(['revoked'])
  })

  test('takes over the lease of a node that died', async () => {
    const row = await account()
    const dead = { leaseToken: randomUUID(), leaseUntil: new Date(clock.now() + 1) }
    await socialCredentials.update(sql, { accountId: row.id }, dead)
    clock.advance(1_000)
    expect(await refresher().credentialOf(row)).toMatchObject({ accessToken: 'access-1' })
  })

  test('says that a reply was lost when the node that waited for it died', async () => {
    const row = await account()
    valid.delete('refresh-0')
    const dead = { leaseToken: randomUUID(), leaseUntil: new Date(clock.now() - 1) }
    await socialCredentials.update(sql, { accountId: row.id }, dead)
    await expect(refresher().credentialOf(row)).rejects.toMatchObject({
      kind: 'auth_expired',
      code: 'refresh_reply_lost',
    })
    expect(broken).toEqual([expect.stringContaining('was lost on the way')])
  })

  test('remembers until the next use that a reply was lost', async () => {
    style = 'reusable'
    faults = ['lost', 'lost', 'lost']
    const row = await account()
    await expect(refresher().credentialOf(row)).rejects.toMatchObject({ kind: 'network' })
    expect(broken).toEqual([])
    style = 'single_use'
    valid.clear()
    await expect(refresher().credentialOf(row)).rejects.toMatchObject({ code: 'refresh_reply_lost' })
    const stored = await socialCredentials.first(sql, { accountId: row.id })
    expect(stored).toMatchObject({ leaseToken: null, leaseUntil: null })
  })

  test('sends a refused refresh token again only when the user asks for it', async () => {
    const row = await account()
    await socialAccounts.update(sql, { id: row.id }, { brokenReason: 'revoked by the user' })
    await expect(refresher().credentialOf(row)).rejects.toMatchObject({ detail: 'revoked by the user' })
    expect([refreshes, broken]).toEqual([0, []])
    expect(await refresher().credentialOf(row, { evenIfBroken: true })).toMatchObject({ accessToken: 'access-1' })
  })

  test('does not overwrite a credential that was connected during the refresh', async () => {
    const row = await account()
    meanwhile = async () => {
      const fresh = await vault().seal({ accessToken: 'connected again' })
      const released = { leaseToken: null, leaseUntil: null }
      await socialCredentials.update(sql, { accountId: row.id }, { ...fresh, ...released, version: 2 })
    }
    await refresher().credentialOf(row)
    const stored = await socialCredentials.first(sql, { accountId: row.id })
    expect(stored && (await vault().open(stored)).accessToken).toBe('connected again')
  })
})

describe('CredentialVault', () => {
  test('rotates the installation key while credentials stay readable', async () => {
    const row = await account()
    const before = await socialCredentials.first(sql, { accountId: row.id })
    const other = vault()
    await other.seal({})
    const rotating = vault()
    const keyId = await rotating.addKey()
    expect(await rotating.reencrypt()).toBeGreaterThan(0)
    const after = await socialCredentials.first(sql, { accountId: row.id })
    expect(after?.keyId).toBe(keyId)
    expect(before?.keyId).not.toBe(keyId)
    expect(after?.sealed).toBe(before?.sealed)
    expect(after && (await vault().open(after)).accessToken).toBe('access-0')
    expect(await socialCredentials.exists(sql, { keyId: before?.keyId ?? '' })).toBe(false)
    // A node that has not yet read the new key seals with the old one, which stays until then.
    expect((await other.seal({})).keyId).toBe(before?.keyId)
    expect(await rotating.prune()).toBe(0)
    clock.advance(HOUR + 1)
    expect((await other.seal({})).keyId).toBe(keyId)
    expect(await rotating.prune()).toBeGreaterThan(0)
    expect(await encryptionKeys.find(sql, {})).toMatchObject([{ id: keyId }])
    expect(after && (await vault().open(after)).accessToken).toBe('access-0')
  })

  test('cannot be opened with another secret', async () => {
    const row = await account()
    const stored = await socialCredentials.first(sql, { accountId: row.id })
    const other = new CredentialVault(sql, clock, 'another secret')
    await expect(stored && other.open(stored)).rejects.toThrow('cannot be opened')
  })
})
