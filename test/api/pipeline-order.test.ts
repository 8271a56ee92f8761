import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { RATE_LIMITS } from '../../src/core/limits.ts'
import type { App } from '../support/app.ts'
import { MAX_THINGS, startProbe } from '../support/probe.ts'

/**
 * The order of the pipeline's checks. Every request below has two faults; the reply must name the one that is checked
 * first. The faults are listed in the order of the checks.
 */

const OURS = uuidv7(Date.now())
const FULL = uuidv7(Date.now())
const FOREIGN = uuidv7(Date.now())

let app: App
beforeAll(async () => {
  const started = await startProbe({ rateLimits: true, clock: new ManualClock() })
  app = started.app
  for (const name of ['ada', 'spent']) {
    started.who.allow(name, OURS, ['streams:manage'])
    started.who.allow(name, FULL, ['streams:manage'])
  }
  for (const name of ['weak', 'spentandweak']) {
    started.who.allow(name, OURS, ['streams:read'])
    started.who.allow(name, FULL, ['streams:read'])
  }
  await app.database.run(
    `insert into probe_things (id, workspace_id, name, version)
     select gen_random_uuid(), $1, 'one of many', 1 from generate_series(1, $2)`,
    [FULL, MAX_THINGS],
  )
  for (const name of ['spent', 'spentandweak']) {
    for (let sent = 0; sent < RATE_LIMITS.write.burst; sent += 1)
      await app.send('POST /api/probe/secret', { token: name })
  }
})
afterAll(() => app?.stop())

interface Draft {
  contentType: string
  name: string
  workspaceId: string
  extra: object
  credential: 'good' | 'bad'
  spent: boolean
  weak: boolean
  off: boolean
  padding: number
}

const GOOD: Draft = {
  contentType: 'application/json',
  name: 'A thing',
  workspaceId: OURS,
  extra: {},
  credential: 'good',
  spent: false,
  weak: false,
  off: false,
  padding: 0,
}

interface Fault {
  readonly what: string
  readonly expected: readonly [number, string]
  readonly apply: (draft: Draft) => void
}

const FAULTS: readonly Fault[] = [
  {
    what: 'a wrong content type',
    expected: [415, 'unsupported_media_type'],
    apply: (draft) => (draft.contentType = 'text/plain'),
  },
  {
    what: 'a body that is too large',
    expected: [413, 'payload_too_large'],
    apply: (draft) => (draft.padding = 30_000),
  },
  {
    what: 'an invalid credential',
    expected: [401, 'invalid_credential'],
    apply: (draft) => (draft.credential = 'bad'),
  },
  { what: 'an exhausted rate limit', expected: [429, 'rate_limited'], apply: (draft) => (draft.spent = true) },
  { what: 'a disabled service', expected: [503, 'service_disabled'], apply: (draft) => (draft.off = true) },
  { what: 'an unknown field', expected: [400, 'validation_failed'], apply: (draft) => (draft.extra = { unknown: 1 }) },
  {
    what: 'a workspace of another tenant',
    expected: [404, 'not_found'],
    apply: (draft) => (draft.workspaceId = FOREIGN),
  },
  { what: 'a missing scope', expected: [403, 'forbidden'], apply: (draft) => (draft.weak = true) },
  {
    what: 'an exhausted plan limit',
    expected: [402, 'plan_limit_reached'],
    apply: (draft) => (draft.workspaceId = draft.workspaceId === FOREIGN ? FOREIGN : FULL),
  },
]

async function send(draft: Draft) {
  const good = ['', draft.spent ? 'spent' : '', draft.weak ? 'weak' : ''].filter(Boolean).join('and') || 'ada'
  await app.composition.services.switches.toggle('probe', !draft.off)
  try {
    return await app.send('POST /api/probe/things', {
      token: draft.credential === 'good' ? good : 'No.Such.Token',
      headers: { 'Content-Type': draft.contentType },
      body:
        JSON.stringify({ workspaceId: draft.workspaceId, name: draft.name, ...draft.extra }) +
        ' '.repeat(draft.padding),
    })
  } finally {
    await app.composition.services.switches.toggle('probe', true)
  }
}

test('a request without a fault succeeds', async () => {
  expect((await send({ ...GOOD })).status).toBe(201)
})

describe.each(FAULTS.map((fault, index) => ({ ...fault, index })))('$what', ({ expected, apply, index }) => {
  test(`returns ${expected.join(' ')}`, async () => {
    const draft = { ...GOOD }
    apply(draft)
    const reply = await send(draft)
    expect([reply.status, reply.body.code]).toEqual(expected)
  })

  for (const later of FAULTS.slice(index + 1)) {
    test(`is reported before ${later.what}`, async () => {
      const draft = { ...GOOD }
      apply(draft)
      later.apply(draft)
      const reply = await send(draft)
      expect([reply.status, reply.body.code]).toEqual(expected)
    })
  }
})

test('a caller with an unconfirmed address reaches only the operations that are open to it', async () => {
  const secret = await app.send('POST /api/probe/secret', { token: 'unconfirmed' })
  expect([secret.status, secret.body.code]).toEqual([403, 'email_unverified'])
  expect((await app.send('GET /api/probe/me', { token: 'unconfirmed' })).status).toBe(200)
})

describe('paths and methods are checked first', () => {
  const broken = {
    headers: { 'Content-Type': 'text/plain', Authorization: 'Bearer No.Such.Token' },
    body: 'x'.repeat(50_000),
  }

  test('404 for an unknown path', async () => {
    const reply = await app.send('POST /api/probe/thingz', broken)
    expect([reply.status, reply.body.code]).toEqual([404, 'route_not_found'])
  })

  test('426 for the path of the sockets', async () => {
    const reply = await app.send('GET /socket.io/?EIO=4&transport=polling', { headers: broken.headers })
    expect([reply.status, reply.body.code]).toEqual([426, 'websocket_required'])
  })

  test('405 with Allow for a method that the path does not have', async () => {
    const reply = await app.send('PUT /api/probe/things', broken)
    expect([reply.status, reply.body.code]).toEqual([405, 'method_not_allowed'])
    expect(reply.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS')
  })
})
