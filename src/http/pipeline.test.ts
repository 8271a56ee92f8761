import { Registry } from 'prom-client'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Caller, Member } from '../core/caller.ts'
import { ManualClock } from '../core/clock.ts'
import { contextFactory } from '../core/context.ts'
import { CredentialExpired, Forbidden, InvalidCredential } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { MainThread } from '../core/main-thread.ts'
import { from, operation, owner, walk, type NamedOperation } from '../core/operation.ts'
import type { Credential, RateDecision } from '../core/ports.ts'
import { FileBody, LiveBody, RawBody, type Reply } from '../core/reply.ts'
import { Envelope, Id, Input, Type } from '../core/schema.ts'
import type { Services } from '../core/services.ts'
import { SignedLinks } from '../core/signed-links.ts'
import type { OperationTurn } from '../turns/payload.ts'
import { UploadSlots } from './upload-slots.ts'
import type { Exchange } from './exchange.ts'
import { JsonParser } from './json-parser.ts'
import { HttpMetrics } from './metrics.ts'
import { compileOperation, type PipelineOptions, type RequestHandler } from './pipeline.ts'
import { RequestLog } from './request-log.ts'

// The steps of the pipeline, without a server or a database. Each request is an object, and each port is a function.

const WORKSPACE = '01939c5e-7a3b-7c21-9f58-000000000001'
const NOTE = '01939c5e-7a3b-7c21-9f58-000000000002'
const ADA: Caller = { userId: 'ada', email: 'ada@example.com', isAdmin: false, emailVerified: true, via: 'token' }
const MEMBER: Member = {
  workspaceId: WORKSPACE,
  userId: 'ada',
  role: 'owner',
  scopes: new Set(['team:read']),
  joinedAt: '2026-01-01T00:00:00.000Z',
}

const returns = { 200: Envelope(Type.Object({ text: Type.String() })) }
const ok = (text: string) => ({ status: 200 as const, body: { status: true as const, message: 'ok', data: { text } } })
const base = { summary: 'x', returns, example: {} } as const

const clock = new ManualClock()
const links = new SignedLinks('a secret of these tests', clock)

/** What a test may change, and what the pipeline did. */
let caller: Caller
let member: Member | undefined
let rate: RateDecision
let workspaceOf: string | undefined
let switchedOn: boolean
let credentials: Credential[]
let used: Caller[]
let taken: string[]
let turns: OperationTurn[]
let lines: Record<string, unknown>[]
let refusal: Error | undefined
/** How many bytes of bodies were read at most. */
let limits: number[]

beforeEach(() => {
  caller = ADA
  member = MEMBER
  rate = { allowed: true, limit: 300, windowSeconds: 60, remaining: 299, resetSeconds: 1 }
  workspaceOf = WORKSPACE
  switchedOn = true
  refusal = undefined
  limits = []
  credentials = []
  used = []
  taken = []
  turns = []
  lines = []
})

function options(): PipelineOptions {
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  return {
    authenticator: {
      authenticate: (credential) => {
        credentials.push(credential)
        if (refusal) throw refusal
        return caller
      },
      used: (one) => void used.push(one),
    },
    workers: { scheme: 'Worker', admit: () => Promise.reject(Forbidden()) },
    downloads: { redeem: () => Promise.reject(Forbidden()) },
    tickets: { redeem: (name, ticket) => ({ ...ADA, userId: `${name} ${ticket}`, via: 'ticket' }) },
    links,
    memberships: { find: (id, userId) => (userId === 'ada' && id === WORKSPACE ? member : undefined) },
    owners: {
      workspaceOf: () => workspaceOf,
      lookup: async (_name, value) => (value === NOTE ? WORKSPACE : undefined),
    },
    limiter: {
      take: (limit, key) => {
        taken.push(`${limit} ${key}`)
        return rate
      },
    },
    switches: { isOn: () => switchedOn },
    idempotency: {} as PipelineOptions['idempotency'],
    turns: {
      operation: async (payload: OperationTurn) => {
        turns.push(payload)
        return ok('turned')
      },
    } as PipelineOptions['turns'],
    context: contextFactory({} as Services),
    requestLog: new RequestLog(createLog({ level: 'info', destination }), new HttpMetrics(new Registry())),
    thread: new MainThread({ onHeld: () => undefined }),
    buffers: {} as PipelineOptions['buffers'],
    uploads: new UploadSlots(),
    json: new JsonParser(),
    publicUrl: 'https://crier.example',
    checkReplies: false,
  }
}

interface Given {
  readonly headers?: Partial<Exchange['headers']>
  readonly query?: string
  readonly parameters?: readonly string[]
  readonly body?: string | Buffer
  readonly http?: object
}

interface Sent {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly code: string | undefined
}

const SIGNED_IN = { authorization: 'Bearer a.b.c' }

/** Sends a request through the pipeline of one operation. */
async function send(op: NamedOperation, given: Given = {}): Promise<Sent> {
  const sent = await sendTo(compileOperation(op, options()), given)
  if (sent === undefined) throw new Error('nothing was sent')
  return sent
}

/** @returns undefined if the reply was sent in another way */
async function sendTo(handle: RequestHandler, given: Given): Promise<Sent | undefined> {
  let sent: Sent | undefined
  const { body = '', headers = SIGNED_IN, http, parameters = [], query = '' } = given
  const exchange: Exchange = {
    headers: {
      authorization: '',
      apiKey: '',
      requestId: 'req-1',
      accept: '',
      userAgent: 'a test',
      contentType: body === '' ? '' : 'application/json',
      contentLength: '',
      idempotencyKey: '',
      ifMatch: '',
      ifNoneMatch: '',
      origin: '',
      ...headers,
    },
    query,
    remoteAddress: '192.0.2.7',
    aborted: false,
    releaseBody: () => undefined,
    body: async (limit) => {
      limits.push(limit)
      return Buffer.from(body)
    },
    send: (status, pairs, content) => {
      expect(sent).toBeUndefined()
      const text = Buffer.from(content).toString()
      const code = text.startsWith('{') ? (JSON.parse(text) as { code?: string }).code : undefined
      sent = { status, headers: Object.fromEntries(pairs), text, code }
    },
    ...(http && { http: http as NonNullable<Exchange['http']> }),
  }
  await handle(exchange, parameters)
  return sent
}

const named = (declared: Parameters<typeof walk>[0][string][string]) =>
  walk({ notes: { readNote: declared } })[0] as NamedOperation

const open = named(operation({ ...base, route: 'GET /api/open', access: 'public', handle: () => ok('open') }))
const mine = named(
  operation({ ...base, route: 'GET /api/mine', access: 'user', handle: ({ caller: { userId } }) => ok(userId) }),
)
const note = named(
  operation({
    ...base,
    route: 'GET /api/notes/{noteId}',
    access: 'team:read',
    workspace: owner('notes'),
    path: Type.Object({ noteId: Id }),
    query: Type.Object({ expires: Type.Optional(Type.String()), signature: Type.Optional(Type.String()) }),
    link: true,
    handle: ({ member: found }) => ok(found === undefined ? 'by link' : found.role),
  }),
)

test('a reply that is the same for everyone is sent again without its operation, and logged', async () => {
  let runs = 0
  const theme = operation({
    ...base,
    route: 'GET /api/theme',
    access: 'public',
    limit: 'none',
    etag: true,
    handle: () => {
      runs += 1
      const caching = { etag: 'e1', control: 'public', isFresh: () => true }
      return { status: 200, body: new RawBody('text/css', 'a{}', caching) } as never
    },
  })
  const handle = compileOperation(named(theme), options())
  const ready: string[] = []
  const get = (ifNoneMatch = '') => {
    const headers = { authorization: '', apiKey: '', requestId: 'req-2', ifNoneMatch }
    const sendReady = (head: string, bytes: Uint8Array) => ready.push(head, Buffer.from(bytes).toString()) > 0
    return sendTo(handle, { headers, http: { headers, query: '', sendReady } })
  }
  expect(await get()).toMatchObject({ status: 200, text: 'a{}' })
  expect([await get(), runs]).toEqual([undefined, 1])
  const [head, text] = ready
  expect(text).toBe('a{}')
  expect(head).toMatch(/^\r\nX-Request-Id: req-2\r\nETag: "e1"/)
  expect(lines).toHaveLength(2)
  expect(lines[1]).toMatchObject({ op: 'readNote', status: 200, requestId: 'req-2' })
  expect(lines[1]).not.toHaveProperty('aborted')
  expect([await get('"e1"'), runs]).toMatchObject([{ status: 304 }, 2])
  switchedOn = false
  expect(await get()).toMatchObject({ status: 503 })
})

test('a body is read up to the limit of its operation, or to a little if it takes none', async () => {
  const bare = { ...base, route: 'POST /api/open', access: 'public', handle: () => ok('done') } as const
  const body = Input({ text: Type.Optional(Type.String()) })
  await send(named(operation(bare)))
  await send(named(operation({ ...bare, body })), { body: '{}' })
  await send(named(operation({ ...bare, body, bodyLimit: 5_000 })), { body: '{}' })
  await send(open)
  expect(limits).toEqual([1_000, 100_000, 5_000])
})

describe('a credential', () => {
  test('is a bearer token or an API key, and public operations need none', async () => {
    expect(await send(mine)).toMatchObject({ status: 200, text: expect.stringContaining('"ada"') })
    await send(mine, { headers: { apiKey: 'key-1' } })
    expect(credentials).toEqual([
      { kind: 'token', token: 'a.b.c' },
      { kind: 'api_key', key: 'key-1' },
    ])
    expect(await send(open, { headers: {} })).toMatchObject({ status: 200 })
    expect(credentials).toHaveLength(2)
    expect(await send(mine, { headers: {} })).toMatchObject({ status: 401, code: 'unauthorized' })
  })

  test('must be well-formed, even if the operation needs none', async () => {
    for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer a b', 'Bearer ä']) {
      expect(await send(open, { headers: { authorization } })).toMatchObject({
        status: 401,
        code: 'invalid_credential',
      })
    }
    expect(credentials).toEqual([])
  })

  test('that is refused counts against its network, and a network with too many is rate-limited', async () => {
    refusal = InvalidCredential()
    expect(await send(mine)).toMatchObject({ status: 401, code: 'invalid_credential' })
    expect(taken).toEqual(['credential 192.0.2.7'])
    rate = { ...rate, allowed: false, resetSeconds: 0 }
    expect(await send(mine)).toMatchObject({ status: 429, code: 'rate_limited', headers: { 'Retry-After': '1' } })
    rate = { ...rate, resetSeconds: 9 }
    const late = await send(mine)
    expect(late.headers['Retry-After']).toBe('9')
    expect(late.text).toContain('Wait 9 s')
    refusal = CredentialExpired()
    taken.length = 0
    expect(await send(mine)).toMatchObject({ status: 401, code: 'credential_expired' })
    expect(taken).toEqual([])
  })

  test('has its use recorded if it is an API key, but not if it is a session token', async () => {
    await send(mine)
    expect(used).toEqual([])
    caller = { ...ADA, apiKey: { id: 'k', scopes: null, workspaceIds: null } }
    await send(mine)
    expect(used).toEqual([caller])
  })

  test('can be a ticket if the operation accepts tickets and no header has a credential', async () => {
    const query = Type.Object({ ticket: Type.Optional(Type.String()) })
    const play = named({ ...mine, ticket: 'ticket', query })
    expect((await send(play, { headers: {}, query: 'ticket=t1' })).text).toContain('"readNote t1"')
    expect((await send(play, { query: 'ticket=t1' })).text).toContain('"ada"')
    expect(await send(play, { headers: {} })).toMatchObject({ status: 401 })
    expect(await send(named({ ...mine, query }), { headers: {}, query: 'ticket=t1' })).toMatchObject({ status: 401 })
  })

  test('of another kind is passed to operations that check it themselves', async () => {
    const hook = named(
      operation({
        ...base,
        route: 'POST /api/hook',
        access: 'public',
        bearer: 'own',
        handle: ({ bearer }) => ok(bearer ?? 'none'),
      }),
    )
    expect((await send(hook)).text).toContain('"a.b.c"')
    expect((await send(hook, { headers: { authorization: 'Basic x' } })).text).toContain('"none"')
    expect(credentials).toEqual([])
  })
})

describe('a signed URL', () => {
  const signed = (id = NOTE) => links.sign(`/api/notes/${id}`).split('?')[1] ?? ''

  test('replaces a credential for its own path', async () => {
    expect((await send(note, { headers: {}, parameters: [NOTE], query: signed() })).text).toContain('by link')
    const other = await send(note, { headers: {}, parameters: [NOTE], query: signed(WORKSPACE) })
    expect(other).toMatchObject({ status: 401, code: 'invalid_credential' })
    expect(await send(note, { headers: {}, parameters: [NOTE] })).toMatchObject({ status: 401, code: 'unauthorized' })
    expect(await send(mine, { headers: {}, query: signed() })).toMatchObject({ status: 401, code: 'unauthorized' })
  })

  test('is ignored when the request has a credential', async () => {
    for (const headers of [SIGNED_IN, { apiKey: 'key-1' }]) {
      expect((await send(note, { headers, parameters: [NOTE], query: signed(WORKSPACE) })).text).toContain('"owner"')
    }
  })

  test('of a missing resource gets not_found', async () => {
    workspaceOf = undefined
    const missing = await send(note, { headers: {}, parameters: [NOTE], query: signed() })
    expect(missing).toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('a rate limit', () => {
  test('counts requests by caller and class, and anonymous requests by address', async () => {
    await send(mine)
    await send(open, { headers: {} })
    const create = named({ ...mine, route: 'POST /api/mine', limit: 'auth' })
    await send(create)
    await send(named({ ...mine, route: 'POST /api/mine' }))
    expect(taken).toEqual(['read ada', 'read 192.0.2.7', 'auth 192.0.2.7', 'write ada'])
  })

  test('is reported in the headers, and a refusal says how long to wait', async () => {
    expect((await send(mine)).headers).toMatchObject({
      'RateLimit-Policy': '"read";q=1200;w=60',
      RateLimit: '"read";r=299;t=1',
    })
    rate = { ...rate, allowed: false, remaining: 0, resetSeconds: 0 }
    const refused = await send(mine)
    expect(refused).toMatchObject({ status: 429, code: 'rate_limited', headers: { 'Retry-After': '1' } })
    rate = { ...rate, resetSeconds: 7 }
    expect(await send(mine)).toMatchObject({ headers: { 'Retry-After': '7', RateLimit: '"read";r=0;t=7' } })
  })

  test('can be switched off', async () => {
    const free = await send(named({ ...open, limit: 'none' }))
    expect(taken).toEqual([])
    expect(free.headers).not.toHaveProperty('RateLimit')
  })
})

describe('permission', () => {
  const denied = async (op: NamedOperation, given: Given = {}) => (await send(op, given)).code

  test('requires a confirmed email address unless the operation declares otherwise', async () => {
    caller = { ...ADA, emailVerified: false }
    expect(await denied(mine)).toBe('email_unverified')
    expect(await denied(named({ ...mine, unconfirmed: true }))).toBeUndefined()
    expect(await denied(open)).toBeUndefined()
  })

  test('of a limited key does not include account-wide operations unless they allow it', async () => {
    caller = { ...ADA, apiKey: { id: 'k', scopes: new Set(['team:read']), workspaceIds: null } }
    expect(await denied(mine)).toBe('api_key_limited')
    expect(await denied(named({ ...mine, access: 'admin' }))).toBe('api_key_limited')
    expect(await denied(named({ ...mine, limitedKeys: true }))).toBeUndefined()
    expect(await denied(note, { parameters: [NOTE] })).toBeUndefined()
    expect(await denied(open)).toBeUndefined()
  })

  test('to administrative and worker operations belongs to administrators and workers only', async () => {
    const admin = named({ ...mine, access: 'admin' })
    expect(await denied(admin)).toBe('forbidden')
    caller = { ...ADA, isAdmin: true }
    expect(await denied(admin)).toBeUndefined()
    expect(await denied(named({ ...mine, access: 'internal' }))).toBe('forbidden')
  })

  test('in a workspace requires a member with the scope, and non-members get not_found', async () => {
    expect(await denied(note, { parameters: [NOTE] })).toBeUndefined()
    member = { ...MEMBER, scopes: new Set() }
    expect(await denied(note, { parameters: [NOTE] })).toBe('forbidden')
    member = undefined
    const foreign = await send(note, { parameters: [NOTE] })
    member = MEMBER
    workspaceOf = undefined
    const missing = await send(note, { parameters: [NOTE] })
    expect(foreign).toMatchObject({ status: 404, code: 'not_found' })
    expect(missing.text).toBe(foreign.text)
  })

  test('of a key is limited to its workspaces and scopes', async () => {
    const limited = (key: Partial<NonNullable<Caller['apiKey']>>) => {
      caller = { ...ADA, apiKey: { id: 'k', scopes: null, workspaceIds: null, ...key } }
      return send(note, { parameters: [NOTE] })
    }
    expect((await limited({ workspaceIds: new Set([WORKSPACE]) })).status).toBe(200)
    expect((await limited({ workspaceIds: new Set() })).code).toBe('not_found')
    const lacking = await limited({ scopes: new Set(['media:read']) })
    expect(lacking.code).toBe('forbidden')
    expect(lacking.text).toContain('The API key, or your role, lacks the scope team:read')
    member = { ...MEMBER, scopes: new Set() }
    expect((await limited({})).text).toContain('Your role owner lacks the scope team:read')
  })

  test('uses the workspace named by a path, query or body field, or by a lookup of a domain', async () => {
    const path = Type.Object({ id: Type.String() })
    const of = (workspace: unknown, more: object = {}) =>
      named({ ...note, link: undefined, path, ...more, workspace } as never)
    const at = { route: 'GET /api/x/{id}' as const }
    expect(await denied(of(from.path('id'), at), { parameters: [WORKSPACE] })).toBeUndefined()
    expect(await denied(of(from.path('id'), at), { parameters: [NOTE] })).toBe('not_found')
    expect(await denied(of({ in: 'lookup', name: 'x', field: 'id' }, at), { parameters: [NOTE] })).toBeUndefined()
    expect(await denied(of({ in: 'lookup', name: 'x', field: 'id' }, at), { parameters: ['x'] })).toBe('not_found')
    const nothing = { route: 'GET /api/x' as const, path: undefined }
    const query = Type.Object({ workspaceId: Type.Optional(Type.String()) })
    const byQuery = of(from.query('workspaceId'), { ...nothing, query })
    expect(await denied(byQuery, { query: `workspaceId=${WORKSPACE}` })).toBeUndefined()
    expect(await denied(byQuery)).toBe('not_found')
  })
})

describe('input', () => {
  const write = named(
    operation({
      ...base,
      route: 'POST /api/notes',
      access: 'user',
      body: Input({ text: Type.String() }),
      handle: ({ body: { text } }) => ok(text),
    }),
  )

  test('must be JSON and have that content type', async () => {
    expect((await send(write, { body: '{"text":"hi"}' })).text).toContain('"hi"')
    const typed = (contentType: string) =>
      send(write, { body: '{"text":"hi"}', headers: { ...SIGNED_IN, contentType } })
    expect(await typed('Application/JSON; charset=utf-8')).toMatchObject({ status: 200 })
    expect(await typed('text/plain')).toMatchObject({ code: 'unsupported_media_type' })
    expect(await typed('')).toMatchObject({ code: 'unsupported_media_type' })
    expect(await send(write, { body: '{' })).toMatchObject({ status: 400, code: 'bad_request' })
    expect(await send(write, { body: Buffer.from([0x22, 0xff, 0x22]) })).toMatchObject({ code: 'bad_request' })
    expect(await send(write)).toMatchObject({ status: 400, code: 'validation_failed' })
    expect((await send(named({ ...write, bodyOptional: true, handle: ({ body }) => ok(typeof body) }))).text).toContain(
      '"undefined"',
    )
  })

  test('gets all errors of query and body in one reply, including unknown parameters', async () => {
    const { code, text } = await send(mine, { query: 'a=1&b=2' })
    expect(code).toBe('validation_failed')
    expect((JSON.parse(text) as { errors: object[] }).errors).toMatchObject([
      { path: '/query/a', code: 'unknown_field' },
      { path: '/query/b', code: 'unknown_field' },
    ])
    const both = named({ ...write, query: Type.Object({ limit: Type.Integer() }) })
    const wrong = await send(both, { query: 'limit=x', body: '{"text":1}' })
    expect((JSON.parse(wrong.text) as { errors: object[] }).errors).toMatchObject([
      { path: '/query/limit' },
      { path: '/body/text' },
    ])
  })

  test('in a path that is not an id or cannot be decoded gets not_found', async () => {
    for (const id of ['x', '%E0%A4%A']) {
      expect(await send(note, { parameters: [id] })).toMatchObject({ status: 404, code: 'not_found' })
    }
    expect(await send(note, { parameters: [encodeURIComponent(NOTE)] })).toMatchObject({ status: 200 })
  })

  test('for a switched-off service is refused, except operations that are needed to switch it on', async () => {
    switchedOn = false
    expect(await send(mine)).toMatchObject({ status: 503, code: 'service_disabled', headers: { 'Retry-After': '30' } })
    const health = walk({ health: { read: open } })[0] as NamedOperation
    expect(await send(health)).toMatchObject({ status: 200 })
  })
})

describe('a turn', () => {
  test('is sent to the actor with its data, after the preparation', async () => {
    const write = named(
      operation({
        ...base,
        route: 'POST /api/workspaces/{id}/notes',
        access: 'team:read',
        workspace: from.path('id'),
        turn: true,
        path: Type.Object({ id: Type.String() }),
        before: async ({ path: { id } }) => `checked ${id}`,
        handle: () => ok('never'),
      }),
    )
    expect((await send(write, { parameters: [WORKSPACE] })).text).toContain('"turned"')
    const [payload] = turns
    expect(payload).toMatchObject({ kind: 'operation', operation: 'readNote', audited: true })
    expect(payload?.context).toMatchObject({ prepared: `checked ${WORKSPACE}`, workspaceId: WORKSPACE, member: MEMBER })
    expect(payload).not.toHaveProperty('idempotency')
    await send(named({ ...write, audit: false }), { parameters: [WORKSPACE] })
    expect(turns[1]?.audited).toBe(false)
  })
})

describe('a reply', () => {
  const replying = (reply: unknown, more: object = {}) => named({ ...open, ...more, handle: () => reply as Reply })

  test('has the id of the request, and the headers of the handler', async () => {
    const sent = await send(replying({ ...ok('x'), headers: { Location: '/y' } }))
    expect(sent.headers).toMatchObject({ 'X-Request-Id': 'req-1', Location: '/y', 'Content-Type': 'application/json' })
    const own = await send(open, { headers: { requestId: 'bad id!' } })
    expect(own.headers['X-Request-Id']).toMatch(/^req_/)
    const long = await send(open, { headers: { requestId: 'x'.repeat(129) } })
    expect(long.headers['X-Request-Id']).toMatch(/^req_/)
    expect((await send(open, { headers: { requestId: 'x'.repeat(128) } })).headers['X-Request-Id']).toHaveLength(128)
  })

  test('can be empty, text or bytes', async () => {
    expect(await send(replying({ status: 204, body: undefined }))).toMatchObject({ status: 204, text: '' })
    const csv = await send(replying({ status: 200, body: new RawBody('text/csv', 'a,b') }))
    expect(csv).toMatchObject({ status: 200, text: 'a,b', headers: { 'Content-Type': 'text/csv' } })
  })

  test('that the operation does not declare, or that cannot be sent over a socket, is an internal error', async () => {
    const bodies = [
      { status: 418, body: {} },
      { status: 200, body: new FileBody({} as never) },
      { status: 200, body: new LiveBody('video/mp4', {} as never) },
    ]
    for (const reply of bodies) {
      expect(await send(replying(reply))).toMatchObject({ status: 500, code: 'internal_error' })
    }
    expect(lines.map(({ cause }) => String(cause).split('\n')[0])).toEqual([
      'Error: readNote replied with 418, which it does not declare',
      'Error: readNote replies with a file, which a socket cannot carry',
      'Error: readNote replies with a stream, which a socket cannot carry',
    ])
  })

  test('can be a stream over HTTP', async () => {
    const sent: unknown[] = []
    const live = replying({ status: 200, body: new LiveBody('video/mp4', 'the source' as never) })
    const http = { sendLive: (headers: [string, string][], source: unknown) => void sent.push(headers.at(-1), source) }
    await expect(send(live, { http })).rejects.toThrow('nothing was sent')
    expect(sent).toEqual([['Content-Type', 'video/mp4'], 'the source'])
  })

  test('has an ETag with its version, and is 304 when the client has that version', async () => {
    const versioned = { status: 200, body: { status: true, message: '', data: { text: 'x', version: 3 } } }
    const read = replying(versioned, { etag: true })
    const known = { ifNoneMatch: '"3"' }
    expect(await send(read)).toMatchObject({ status: 200, headers: { ETag: '"3"' } })
    expect(await send(read, { headers: known })).toMatchObject({ status: 304, text: '', headers: { ETag: '"3"' } })
    expect(await send(replying(versioned, { etag: 'edits' }), { headers: known })).toMatchObject({ status: 200 })
    const patch = replying(versioned, { etag: true, route: 'PATCH /api/open' })
    expect(await send(patch, { headers: known })).toMatchObject({ status: 200 })
  })

  test('is logged with its caller and workspace, and an unexpected error with its cause', async () => {
    await send(note, { parameters: [NOTE] })
    expect(lines[0]).toMatchObject({
      op: 'readNote',
      status: 200,
      requestId: 'req-1',
      userId: 'ada',
      workspaceId: WORKSPACE,
    })
    const broken = named({ ...open, handle: () => Promise.reject(new TypeError('no such field')) })
    expect(await send(broken)).toMatchObject({ status: 500, code: 'internal_error' })
    expect(lines[1]).toMatchObject({ level: 50, status: 500, error: 'internal_error' })
    expect(String(lines[1]?.['cause'])).toContain('no such field')
  })
})

test('a signature and the bytes that it signs reach the handler as they were sent', async () => {
  const webhook = named(
    operation({
      ...base,
      route: 'POST /api/signed',
      access: 'public',
      signature: 'x-signature',
      body: Type.String({ maxLength: 100, 'x-verbatim': true }),
      bodyType: 'application/json',
      example: { body: '{}' },
      handle: ({ body, signature }) => ok(JSON.stringify([body, signature ?? 'none'])),
    }),
  )
  const body = '{ "a":  1 }\n'
  const sent = await send(webhook, { body, http: { extra: { 'x-signature': 'v1=abc', other: 'x' } } })
  expect(JSON.parse(JSON.parse(sent.text).data.text)).toEqual([body, 'v1=abc'])
  expect((await send(webhook, { body })).text).toContain('none')
})

test('a cookie is read only if the operation declares it', async () => {
  const page = named(
    operation({
      ...base,
      route: 'GET /api/page',
      access: 'public',
      cookie: 'state',
      handle: ({ cookie }) => ok(cookie ?? 'none'),
    }),
  )
  const read = async (cookie: string) => (await send(page, { http: { extra: { cookie } } })).text
  expect(await read('a=1; state=x=y;  other=2')).toContain('"x=y"')
  expect(await read('state=first')).toContain('"first"')
  expect(await read('notstate=x; a=state=')).toContain('"none"')
  expect(await read('')).toContain('"none"')
  expect((await send(page)).text).toContain('"none"')
  const { cookie: _, ...without } = page
  expect((await send(named(without), { http: { extra: { cookie: 'state=x; undefined=y' } } })).text).toContain('"none"')
})

describe('the share of the main thread', () => {
  /** An operation that computes for longer than a tenant is allowed beyond its share. */
  const slow = named(
    operation({
      ...base,
      route: 'POST /api/slow',
      access: 'user',
      body: Input({ ms: Type.Integer() }),
      handle: ({ body: { ms } }) => {
        const until = performance.now() + ms
        while (performance.now() < until);
        return ok('slow')
      },
    }),
  )

  test('heavy requests of one account wait for each other, and others are answered between them', async () => {
    const given = options()
    const users: Caller[] = [ADA, ADA, ADA, { ...ADA, userId: 'bob' }, { ...ADA, userId: 'bob' }]
    const callers = users.values()
    const pipeline = {
      ...given,
      authenticator: { ...given.authenticator, authenticate: () => callers.next().value as Caller },
    }
    const handle = compileOperation(slow, pipeline)
    const order: string[] = []
    const all = users.map(async ({ userId }, index) => {
      const body = JSON.stringify({ ms: index < 3 ? 60 : 0 })
      const sent = await sendTo(handle, { body, headers: { ...SIGNED_IN, contentType: 'application/json' } })
      order.push(`${userId} ${sent?.status}`)
    })
    await Promise.all(all)
    expect(order).toEqual(['ada 200', 'bob 200', 'bob 200', 'ada 200', 'ada 200'])
  })

  test('a stranger does not use up the share of a workspace, and its members do', async () => {
    const spent: (readonly string[])[] = []
    const thread = new MainThread({ onHeld: () => undefined })
    thread.spent = (_name, tenants) => void spent.push(tenants)
    const busy = (ms: number) => {
      const until = performance.now() + ms
      while (performance.now() < until);
    }
    const pipeline = { ...options(), thread, memberships: { find: () => (busy(5), member) } }
    const handle = compileOperation(note, pipeline)
    member = undefined
    expect((await sendTo(handle, { parameters: [NOTE] }))?.status).toBe(404)
    member = MEMBER
    expect((await sendTo(handle, { parameters: [NOTE] }))?.status).toBe(200)
    expect(spent).toEqual([['ada'], ['ada', WORKSPACE]])
  })
})
