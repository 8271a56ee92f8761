import { createHash, randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { WorkerSignatures, type WorkerClaims } from '../../src/domains/system/internal/signing.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

/** Uploads of workers: signed, dated, and each only once. */

const ROUTE = 'POST /api/internal/uploads'
const SECRET = 'the secret of the cluster, which is long'
const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'))
const signatures = new WorkerSignatures(SECRET)
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock, env: { CLUSTER_SECRET: SECRET } })
  world = new World(app)
  await world.user('admin', { admin: true })
})
afterAll(() => app?.stop())

const bytes = (text: string) => new TextEncoder().encode(text)
function claimsFor(text: string, change: Partial<WorkerClaims> = {}): WorkerClaims {
  const sha256 = createHash('sha256').update(text).digest('hex')
  const date = new Date(clock.now()).toISOString()
  return { date, nonce: randomUUID(), owner: world.id('admin'), sha256, size: bytes(text).length, ...change }
}
function send(text: string, authorization: string) {
  const file = { name: 'clip.mp4', content: bytes(text) }
  return app.send(ROUTE, { file, headers: { Authorization: authorization } })
}
const signed = (text: string, change: Partial<WorkerClaims> = {}) => signatures.sign(ROUTE, claimsFor(text, change))
const stored = (path: string) =>
  readdirSync(join(app.dataDir, 'storage'), { recursive: true }).some((name) => String(name).includes(path.slice(37)))

test('stores the signed file, and keeps it for seven days', async () => {
  const reply = await send('a clip', signed('a clip'))
  expect(reply.status, reply.text).toBe(201)
  const { expiresAt, name, path, size } = reply.body.data
  expect([name, size]).toEqual(['clip.mp4', 6])
  expect(path).toMatch(new RegExp(`^${world.id('admin')}/[0-9a-f-]{36}$`))
  const { assets, internal } = app.composition.services
  clock.advance(3 * DAY)
  await assets.housekeeping.sweep()
  await internal.uploads.sweep()
  expect(stored(path)).toBe(true)
  clock.advance(4 * DAY)
  expect(Date.parse(expiresAt)).toBe(clock.now())
  clock.advance(1)
  await internal.uploads.sweep()
  expect(stored(path)).toBe(false)
})

test('refuses a request that was sent before, also if it failed', async () => {
  const first = signed('once')
  expect((await send('once', first)).status).toBe(201)
  const again = await send('once', first)
  expect([again.status, again.body.code]).toEqual([409, 'worker_request_replayed'])
  const failed = signed('once')
  expect((await send('twice', failed)).status).toBe(400)
  expect((await send('once', failed)).body.code).toBe('worker_request_replayed')
})

test('refuses requests that were not signed within five minutes, and says what time it is', async () => {
  for (const minutes of [-5.1, 5.1]) {
    const date = new Date(clock.now() + minutes * MINUTE).toISOString()
    const reply = await send('late', signed('late', { date }))
    expect([reply.status, reply.body.code]).toEqual([401, 'worker_request_expired'])
    expect(reply.body.details.serverTime).toBe(new Date(clock.now()).toISOString())
  }
  for (const minutes of [-4.9, 4.9]) {
    const date = new Date(clock.now() + minutes * MINUTE).toISOString()
    expect((await send('late', signed('late', { date }))).status).toBe(201)
  }
})

test('a signature is not forgotten before it has expired', async () => {
  const early = signed('early', { date: new Date(clock.now() + 4 * MINUTE).toISOString() })
  expect((await send('early', early)).status).toBe(201)
  clock.advance(8 * MINUTE)
  await app.composition.services.internal.uploads.sweep()
  expect((await send('early', early)).body.code).toBe('worker_request_replayed')
})

test('refuses a wrong signature, another secret, another request and changed values', async () => {
  const right = signed('x')
  const wrong = [
    new WorkerSignatures('another secret').sign(ROUTE, claimsFor('x')),
    signatures.sign('POST /api/internal/others', claimsFor('x')),
    right.replace(/size=\d+/, 'size=2'),
    right.replace(world.id('admin'), randomUUID()),
    right.slice(0, -1) + (right.endsWith('0') ? '1' : '0'),
    'Crier-Worker nonsense',
  ]
  for (const authorization of wrong) {
    const reply = await send('x', authorization)
    expect([reply.status, reply.body.code], authorization).toEqual([401, 'worker_signature_wrong'])
  }
})

test('refuses a file that is not the signed one, and stores nothing', async () => {
  for (const [sent, claimed] of [
    ['longer', 'long'],
    ['long', 'longer'],
    ['same', 'size'],
  ] as const) {
    const reply = await send(sent, signed(claimed))
    expect([reply.status, reply.body.code], sent).toEqual([400, 'worker_content_wrong'])
  }
  const large = await send('x', signed('x', { size: 2_000_000_001 }))
  expect([large.status, large.body.code]).toEqual([413, 'payload_too_large'])
})

test('is closed to users and administrators', async () => {
  const file = { name: 'x', content: bytes('x') }
  const asAdmin = await world.as('admin').call(ROUTE, { file })
  expect([asAdmin.status, asAdmin.body.code]).toEqual([403, 'forbidden'])
  expect((await app.send(ROUTE, { file })).status).toBe(401)
})
