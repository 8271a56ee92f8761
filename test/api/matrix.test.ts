import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { ManualClock, MINUTE } from '../../src/core/clock.ts'
import { DEFAULT_BODY_LIMIT, limitClassOf } from '../../src/core/limits.ts'
import { returnsFile, walk, type NamedOperation } from '../../src/core/operation.ts'
import { ALL_SCOPES, type Scope } from '../../src/core/scope.ts'
import { ClientMetadata } from '../../src/domains/social/accounts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import type { Stage } from '../support/stage.ts'
import { signUp } from '../support/people.ts'
import { withWorkspace, comparable, example, NOTHING, stageExample, wrongValue } from '../support/matrix.ts'
import type { Reply, SendOptions } from '../support/send.ts'
import { World } from '../support/world.ts'

/** Generated tests that run for every operation. */

const operations = walk(api)
const clock = new ManualClock()
let app: App
let world: World
let expired: string
let revoked: string
/** API keys of the member: one for another workspace, and one for each scope of this workspace. */
let elsewhere: string
const withScopes = new Map<string, string>()
/** The API key of an account with an unconfirmed address. */
let unconfirmed: string
let workspaceId: string

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  const owner = await world.user('owner', { plan: 'business' })
  workspaceId = await world.workspace('acme', 'owner')
  for (const name of ['member', 'outsider', 'former']) await world.user(name)
  unconfirmed = (await signUp(app)).apiKey
  const other = await world.workspace('other', 'member')
  elsewhere = await limitedKey({ workspaceIds: [other] })
  await world.user('admin', { admin: true })
  const loggedIn = await app.send('POST /api/auth/login', { body: { email: owner.email, password: owner.password } })
  expired = loggedIn.body.data.accessToken
  const former = await world.user('former')
  const next = await app.send('POST /api/users/me/api-key', { apiKey: former.apiKey })
  expect(next.status).toBe(200)
  revoked = former.apiKey
  clock.advance(16 * MINUTE)
})
afterAll(() => app?.stop())

/** Creates a restricted API key for the member. */
async function limitedKey(limits: object): Promise<string> {
  const body = { name: 'limited', ...limits }
  const reply = await app.send('POST /api/users/me/api-keys', { apiKey: world.key('member'), body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data.apiKey
}

/** An API key of the member with every scope but one. */
async function keyWithout(scope: string): Promise<string> {
  const known = withScopes.get(scope)
  if (known !== undefined) return known
  const key = await limitedKey({ scopes: ALL_SCOPES.filter((one) => one !== scope) })
  withScopes.set(scope, key)
  return key
}

/** Sends a request, and checks what must hold for every reply. */
async function call(op: NamedOperation, options: SendOptions): Promise<Reply> {
  const reply = await app.send(op.route as string, {
    ...options,
    headers: { 'X-Request-Id': 'matrix-1', ...options.headers },
  })
  if (reply.status === 500)
    expect.fail(`${op.name} returned 500: ${String(app.logs.findLast((line) => line['cause'])?.['cause'])}`)
  expect(reply.headers.get('x-request-id')).toBe('matrix-1')
  expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
  const mayBeStored = returnsFile(op) || op.headers?.includes('Cache-Control') === true
  expect(reply.headers.get('cache-control'), 'only files and public documents may be stored').toMatch(
    mayBeStored && reply.status < 400 ? /private|public|no-store/ : /^no-store$/,
  )
  if (reply.status >= 400 && reply.body?.code !== undefined) {
    expect(reply.body).toMatchObject({
      status: false,
      message: expect.stringMatching(/\S/),
      requestId: 'matrix-1',
      docUrl: `${app.url}/docs/errors#${reply.body.code}`,
    })
  }
  const counted = limitClassOf(op) !== 'none' && ![401, 413, 415].includes(reply.status)
  if (counted) {
    expect(reply.headers.get('ratelimit-policy')).toMatch(new RegExp(`^"${limitClassOf(op)}";q=\\d+;w=\\d+$`))
    expect(reply.headers.get('ratelimit')).toMatch(new RegExp(`^"${limitClassOf(op)}";r=\\d+;t=\\d+$`))
  }
  return reply
}

async function expectError(op: NamedOperation, options: SendOptions, status: number, code: string): Promise<Reply> {
  const reply = await call(op, options)
  expect([reply.status, reply.body.code], reply.text).toEqual([status, code])
  return reply
}

const isScoped = (op: NamedOperation) => op.access.includes(':')

/** A credential that the operation accepts, for tests of the later checks. */
function insider(op: NamedOperation): SendOptions {
  if (op.access === 'public') return {}
  return { apiKey: world.key(op.access === 'admin' ? 'admin' : 'owner') }
}

/** Turns whose example causes no event and no change of a channel, each with its reason. */
const WITHOUT_EVENTS: Readonly<Record<string, string>> = {
  createCalendarFeed: 'the link of a member concerns nobody else',
  createPinterestBoard: 'the board is at the platform',
  deleteAssets: 'there is no such asset',
  markChannelRead: 'only sends an event to the clients of the same user',
  replayWebhookDelivery: 'an event about a delivery would be delivered',
  getStreamKeys: 'it changes nothing, and the audit log names who has asked',
  replayWebhookEvents: 'an event about a delivery would be delivered',
  revokeCalendarFeed: 'the link of a member concerns nobody else',
  testWebhook: 'an event about a delivery would be delivered',
  retryDestination: 'only the result causes an event',
  unreactToMessage: 'there is no reaction to remove',
}

/** The newest numbers of events and of channel changes. */
async function newestNumbers(): Promise<object | undefined> {
  return app.database.row(
    'select (select sum(seq) from actor_fence) as events, (select sum(seq) from chat_log) as changes',
  )
}

async function stageFor(op: NamedOperation): Promise<Stage> {
  const name = op.access === 'admin' ? 'admin' : 'member'
  const caller = await world.user(name)
  if (isScoped(op)) await world.member('acme', name, { scopes: [op.access as Scope] })
  return { app, workspaceId, owner: await world.user('owner'), caller }
}

describe.each(operations.map((op) => [op.name, op] as const))('%s', (_name, op) => {
  if (op.access !== 'public') {
    test('401 without a credential', async () => {
      const reply = await expectError(op, example(op), 401, 'unauthorized')
      expect(reply.headers.get('www-authenticate')).toBe('Bearer')
    })
  }

  test('401 with a malformed, unknown, expired or revoked credential, even when none is needed', async () => {
    for (const headers of [
      { Authorization: 'Basic YTpi' },
      { Authorization: 'Bearer a.b.c' },
      { 'X-API-Key': 'crier_no' },
    ]) {
      const sent = example(op)
      await expectError(op, { ...sent, headers: { ...sent.headers, ...headers } }, 401, 'invalid_credential')
    }
    // The operation has its own kind of token, which the pipeline does not check.
    if (op.bearer === 'own') return
    await expectError(op, { ...example(op), token: expired }, 401, 'credential_expired')
    await expectError(op, { ...example(op), apiKey: revoked }, 401, 'invalid_credential')
  })

  if (op.access !== 'public' && !op.unconfirmed) {
    test('403 for an account with an unconfirmed address', async () => {
      await expectError(op, { ...example(op), apiKey: unconfirmed }, 403, 'email_unverified')
    })
  }

  if ((op.access === 'user' || op.access === 'admin') && !op.limitedKeys) {
    test('403 for an API key restricted to a workspace', async () => {
      await expectError(op, { ...example(op), apiKey: elsewhere }, 403, 'api_key_limited')
    })
  }

  if (isScoped(op)) {
    test('404 for a user outside the workspace, equal to the reply for a missing resource', async () => {
      const stage = await stageFor(op)
      const { send } = await stageExample(op, stage)
      const outsider = { apiKey: world.key('outsider') }
      const foreign = await expectError(op, { ...send, ...outsider }, 404, 'not_found')
      const missing = await expectError(op, { ...withWorkspace(op, NOTHING, send), ...outsider }, 404, 'not_found')
      expect(comparable(foreign)).toBe(comparable(missing))
      const missingToMember = await call(op, { ...withWorkspace(op, NOTHING, send), apiKey: stage.caller.apiKey })
      expect(comparable(missingToMember)).toBe(comparable(missing))
    })

    test(`404 and 403 for API keys of a member with ${op.access}, of another workspace or without the scope`, async () => {
      const stage = await stageFor(op)
      const { send } = await stageExample(op, stage)
      const foreign = await expectError(op, { ...send, apiKey: elsewhere }, 404, 'not_found')
      const missing = await expectError(
        op,
        { ...withWorkspace(op, NOTHING, send), apiKey: elsewhere },
        404,
        'not_found',
      )
      expect(comparable(foreign)).toBe(comparable(missing))
      const apiKey = await keyWithout(op.access)
      const reply = await expectError(op, { ...aimAtAcme(op, send), apiKey }, 403, 'forbidden')
      expect(reply.body.message).toContain(op.access)
    })

    test(`403 for a member without ${op.access}`, async () => {
      const { send } = await stageExample(op, await stageFor(op))
      await world.member('acme', 'member', { scopes: ALL_SCOPES.filter((scope) => scope !== op.access) })
      const reply = await expectError(op, { ...aimAtAcme(op, send), apiKey: world.key('member') }, 403, 'forbidden')
      expect(reply.body.message).toContain(op.access)
    })
  }

  if (op.access === 'admin') {
    test('403 for a user who is not an administrator', async () => {
      await expectError(op, { ...example(op), apiKey: world.key('owner') }, 403, 'forbidden')
    })
  }

  test(`accepts its example from ${isScoped(op) ? `a member with only ${op.access}` : op.access}`, async () => {
    const { send, prepared } = await stageExample(op, await stageFor(op))
    const declared = Object.keys(op.returns as object).map(Number)
    const before = await newestNumbers()
    const first = await call(op, { ...send, headers: { ...send.headers, 'Idempotency-Key': `first-${op.name}` } })
    if (prepared.error !== undefined) {
      expect(first.body.code, first.text).toBe(prepared.error)
      expect((op.errors ?? []).map((error) => error.code)).toContain(prepared.error)
      return
    }
    expect(first.status, first.text).toBeLessThan(300)
    expect(declared).toContain(first.status)
    expectEnvelope(op, first)
    if (op.turn && !(op.name in WITHOUT_EVENTS))
      expect(await newestNumbers(), 'the turn causes an event or a change').not.toEqual(before)
    if (op.method === 'POST' && !prepared.once) {
      const again = await call(op, { ...send, headers: { ...send.headers, 'Idempotency-Key': `first-${op.name}` } })
      expect([again.status, again.text]).toEqual([first.status, first.text])
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      if (send.file !== undefined) await expectOtherFileRefused(op, send)
    }
    if (op.etag) await expectVersions(op, send, first)
  })

  const body = op.body as Schema | undefined
  if (op.upload) {
    test('415 and 400 for an upload that is not multipart or lacks a field', async () => {
      if (op.upload?.kind === 'raw') return
      const { file, ...send } = { ...example(op), ...insider(op) }
      await expectError(op, { ...send, body: {} }, 415, 'unsupported_media_type')
      const fields = send.body as Record<string, unknown> | undefined
      for (const name of body?.required ?? []) {
        const { [name]: _, ...rest } = fields ?? {}
        await expectFault(op, { ...send, ...(file && { file }), body: rest }, `/body/${name}`, 'required')
      }
    })
  } else if (op.bodyType !== undefined) {
    test('413, 415 and 400 for a body that is too large, of a wrong type, or missing', async () => {
      const { body: _, ...send } = { ...example(op), ...insider(op) }
      const large = ' '.repeat((op.bodyLimit ?? DEFAULT_BODY_LIMIT) + 1)
      await expectError(op, { ...send, body: large }, 413, 'payload_too_large')
      const { headers: _type, ...json } = { ...send, body: {} }
      const form = { ...send, body: 'a=b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
      await expectError(op, op.bodyType === 'application/json' ? form : json, 415, 'unsupported_media_type')
      await expectFault(op, send, '/body', 'required')
    })
  } else if (body !== undefined) {
    test('413, 415 and 400 for a body that is too large, of a wrong type, or not JSON', async () => {
      const send = { ...example(op), ...insider(op) }
      const large = ' '.repeat((op.bodyLimit ?? DEFAULT_BODY_LIMIT) + 1)
      await expectError(op, { ...send, body: large }, 413, 'payload_too_large')
      const typed = { ...send, body: 'a=b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
      await expectError(op, typed, 415, 'unsupported_media_type')
      await expectError(op, { ...send, body: '{"cut":' }, 400, 'bad_request')
    })

    test('400 names a field that is unknown, missing or of the wrong type', async () => {
      const send = { ...example(op), ...insider(op) }
      const fields = (send.body ?? {}) as Record<string, unknown>
      // Too many fields are not looked at.
      const hasRoom = Object.keys(fields).length < (body.maxProperties ?? Infinity)
      const more = { ...(hasRoom && fields), unheardOf: 1 }
      await expectFault(op, { ...send, body: more }, '/body/unheardOf', 'unknown_field')
      for (const name of body.required ?? []) {
        const { [name]: _, ...rest } = fields
        await expectFault(op, { ...send, body: rest }, `/body/${name}`, 'required')
      }
      for (const [name, schema] of Object.entries(body.properties ?? {})) {
        const wrong = wrongValue(schema)
        if (wrong === undefined) continue
        const others = hasRoom || name in fields ? fields : {}
        const reply = await expectError(op, { ...send, body: { ...others, [name]: wrong } }, 400, 'validation_failed')
        const paths = (reply.body.errors as { path: string }[]).map((row) => row.path)
        expect(
          paths.some((path) => path.startsWith(`/body/${name}`)),
          `${name}: ${paths.join()}`,
        ).toBe(true)
      }
    })
  }

  test.skipIf(op.openQuery)('400 names a query parameter that is unknown or missing', async () => {
    const send = { ...example(op), ...insider(op) }
    await expectFault(op, { ...send, query: { ...send.query, unheardOf: 1 } }, '/query/unheardOf', 'unknown_field')
    for (const name of (op.query as Schema | undefined)?.required ?? []) {
      const { [name]: _, ...rest } = send.query ?? {}
      await expectFault(op, { ...send, query: rest }, `/query/${name}`, 'required')
    }
  })
})

/** An idempotency key belongs to the content of a file, not to its length. */
async function expectOtherFileRefused(op: NamedOperation, send: SendOptions): Promise<void> {
  const file = send.file as NonNullable<SendOptions['file']>
  const content = new Uint8Array(file.content)
  content[content.length - 1] = (content.at(-1) ?? 0) ^ 1
  const headers = { ...send.headers, 'Idempotency-Key': `first-${op.name}` }
  await expectError(op, { ...send, headers, file: { ...file, content } }, 422, 'idempotency_key_reused')
}

describe.each([...new Set(operations.map((op) => op.pattern))])('%s', (pattern) => {
  test('405 with Allow for other methods', async () => {
    const here = operations.filter((op) => op.pattern === pattern)
    const taken = here.map((op) => op.method as string)
    const head = here.some((op) => op.method === 'GET' && !op.changes) ? ['HEAD'] : []
    const path = Object.fromEntries([...pattern.matchAll(/\{(\w+)\}/g)].map((match) => [match[1] as string, NOTHING]))
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !taken.includes(name))) {
      const reply = await app.send(`${method} ${pattern}`, { path })
      expect([method, reply.status, reply.body.code]).toEqual([method, 405, 'method_not_allowed'])
      const allow = (reply.headers.get('allow') ?? '').split(', ')
      expect(new Set(allow)).toEqual(new Set([...taken, 'OPTIONS', ...head]))
    }
  })
})

interface Schema {
  readonly properties?: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  readonly maxProperties?: number
}

/** Sends the request to the member's workspace when a fixture names another one. */
function aimAtAcme(op: NamedOperation, send: SendOptions): SendOptions {
  return op.workspace?.in === 'owner' || op.workspace?.in === 'lookup' ? send : withWorkspace(op, workspaceId, send)
}

async function expectFault(op: NamedOperation, options: SendOptions, path: string, code: string): Promise<void> {
  const reply = await expectError(op, options, 400, 'validation_failed')
  expect(reply.body.errors).toContainEqual({ path, code, message: expect.stringMatching(/\S/) })
}

/** The contract's exceptions from the envelope, with their fields. */
const OWN_SHAPE: Readonly<Record<string, readonly string[]>> = {
  signUp: ['message', 'user'],
  // Documents of the AT Protocol.
  atprotoClientMetadata: Object.keys(ClientMetadata.properties),
  atprotoJwks: ['keys'],
}

function expectEnvelope(op: NamedOperation, reply: Reply): void {
  const returns = (op.returns as Record<number, { contentType?: string } | null>)[reply.status]
  if (returns === null) {
    expect(reply.text).toBe('')
  } else if (returns?.contentType === '*/*') {
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
  } else if (returns?.contentType !== undefined) {
    expect(reply.headers.get('content-type')).toContain(returns.contentType)
  } else {
    expect(reply.headers.get('content-type')).toBe('application/json')
    const own = OWN_SHAPE[op.name]
    if (own) expect(Object.keys(reply.body as object)).toEqual(own)
    else expect(reply.body).toMatchObject({ status: true, message: expect.stringMatching(/\S/) })
  }
}

async function expectVersions(op: NamedOperation, send: SendOptions, first: Reply): Promise<void> {
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[\w.-]+"$/)
  if (op.method === 'GET') {
    const known = await call(op, { ...send, headers: { 'If-None-Match': etag } })
    if (op.etag === 'edits') expect(known.status).toBe(200)
    else expect([known.status, known.text]).toEqual([304, ''])
  } else if (op.method !== 'POST') {
    await expectError(op, { ...send, headers: { 'If-Match': '"999999"' } }, 412, 'precondition_failed')
  }
}
