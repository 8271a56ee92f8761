import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { startApp, type App } from '../support/app.ts'
import { gate, MAX_THINGS, registryOfProbe, startProbe, type ProbeWorld } from '../support/probe.ts'
import { waitFor } from '../support/wait.ts'

const OURS = uuidv7(Date.now())
const clock = new ManualClock()
let app: App
let who: ProbeWorld

beforeAll(async () => {
  ;({ app, who } = await startProbe({ clock }))
  who.allow('ada', OURS, ['streams:manage'])
  who.allow('bob', OURS, ['streams:manage'])
})
afterAll(() => app?.stop())

function create(key: string, body: object = { name: 'A thing' }, token = 'ada', workspaceId = OURS) {
  return app.send('POST /api/probe/things', {
    token,
    headers: { 'Idempotency-Key': key },
    body: { workspaceId, ...body },
  })
}

async function countThings(workspaceId = OURS): Promise<number> {
  const row = await app.database.row<{ count: number }>(
    'select count(*)::int as count from probe_things where workspace_id = $1',
    [workspaceId],
  )
  return row?.count ?? 0
}

test('a repeated request gets the first reply and has no effect', async () => {
  const before = await countThings()
  const first = await create('again')
  const second = await create('again')
  expect([first.status, second.status]).toEqual([201, 201])
  expect(second.text).toBe(first.text)
  expect(first.headers.get('idempotent-replayed')).toBeNull()
  expect(second.headers.get('idempotent-replayed')).toBe('true')
  expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect(await countThings()).toBe(before + 1)
})

test('replies of operations without a turn are replayed too, secrets included', async () => {
  const send = (key: string) =>
    app.send('POST /api/probe/secret', { token: 'ada', headers: { 'Idempotency-Key': key } })
  const first = await send('secret-1')
  expect((await send('secret-1')).body.data.secret).toBe(first.body.data.secret)
  expect((await send('secret-2')).body.data.secret).not.toBe(first.body.data.secret)
})

test('kept replies are encrypted', async () => {
  const sent = await app.send('POST /api/probe/secret', { token: 'ada', headers: { 'Idempotency-Key': 'sealed' } })
  const secret = sent.body.data.secret as string
  const kept = await app.database.rows<{ reply: string }>('select reply from idempotency_keys')
  expect(kept.length).toBeGreaterThan(0)
  for (const row of kept) {
    expect(row.reply).not.toContain(secret)
    expect(Buffer.from(row.reply, 'base64url').toString('latin1')).not.toContain(secret)
  }
})

test('the same key with another body gets 422 and changes nothing', async () => {
  const before = await countThings()
  await create('mismatch', { name: 'One' })
  const other = await create('mismatch', { name: 'Two' })
  expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
  expect(await countThings()).toBe(before + 1)
})

test('keys are separate for each caller and operation', async () => {
  const first = await create('shared')
  const bobs = await create('shared', { name: 'A thing' }, 'bob')
  expect(bobs.headers.get('idempotent-replayed')).toBeNull()
  expect(bobs.body.data._id).not.toBe(first.body.data._id)
  const elsewhere = await app.send('POST /api/probe/secret', { token: 'ada', headers: { 'Idempotency-Key': 'shared' } })
  expect(elsewhere.status).toBe(200)
})

test('a repeated request gets 409 with Retry-After while the first one runs', async () => {
  const { open, arrivals } = gate('running')
  const send = () =>
    app.send('POST /api/probe/wait', {
      token: 'ada',
      body: { gate: 'running' },
      headers: { 'Idempotency-Key': 'running' },
    })
  const first = send()
  await waitFor(() => arrivals() === 1)
  const second = await send()
  expect([second.status, second.body.code]).toEqual([409, 'idempotency_key_in_use'])
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
  open()
  expect((await first).status).toBe(200)
  const third = await send()
  expect([third.status, third.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  expect(arrivals()).toBe(1)
})

test('20 concurrent repetitions have one effect', async () => {
  const before = await countThings()
  const replies = await Promise.all(Array.from({ length: 20 }, () => create('storm')))
  const made = replies.filter((reply) => reply.status === 201)
  expect(made.length).toBeGreaterThan(0)
  expect(new Set(made.map((reply) => reply.body.data._id)).size).toBe(1)
  for (const reply of replies) expect([201, 409]).toContain(reply.status)
  expect(await countThings()).toBe(before + 1)
})

test('repetitions on two nodes have one effect', async () => {
  const start = () =>
    startApp({
      databaseUrl: app.databaseUrl,
      clock,
      registry: registryOfProbe,
      adapt: (composition) => who.adapt(composition),
      env: { JWT_SECRET: 'x'.repeat(40) },
    })
  const first = await start()
  const second = await start()
  try {
    for (let round = 0; round < 10; round += 1) {
      const before = await countThings()
      const send = (node: App) =>
        node.send('POST /api/probe/things', {
          token: 'ada',
          headers: { 'Idempotency-Key': `nodes-${round}` },
          body: { workspaceId: OURS, name: 'Once' },
        })
      const replies = await Promise.all([send(first), send(second)])
      expect(replies.map((reply) => reply.status)).toEqual([201, 201])
      expect(replies[0]?.body.data._id).toBe(replies[1]?.body.data._id)
      expect(await countThings()).toBe(before + 1)
    }
  } finally {
    await second.stop()
    await first.stop()
  }
})

test('an operation without a turn does not run on two nodes at once with one key', async () => {
  const second = await startApp({
    databaseUrl: app.databaseUrl,
    clock,
    registry: registryOfProbe,
    adapt: (composition) => who.adapt(composition),
  })
  try {
    const { open, arrivals } = gate('two-nodes')
    const request = { token: 'ada', body: { gate: 'two-nodes' }, headers: { 'Idempotency-Key': 'two-nodes' } }
    const slow = app.send('POST /api/probe/wait', request)
    await waitFor(() => arrivals() === 1)
    const elsewhere = await second.send('POST /api/probe/wait', request)
    expect([elsewhere.status, elsewhere.body.code]).toEqual([409, 'idempotency_key_in_use'])
    open()
    expect((await slow).status).toBe(200)
    expect(arrivals()).toBe(1)
  } finally {
    await second.stop()
  }
})

test('a key can be used again after its request failed', async () => {
  const broken = await app.send('POST /api/probe/fail-once', { token: 'ada', headers: { 'Idempotency-Key': 'retry' } })
  expect(broken.status).toBe(409)
  const fine = await app.send('POST /api/probe/fail-once', { token: 'ada', headers: { 'Idempotency-Key': 'retry' } })
  expect([fine.status, fine.headers.get('idempotent-replayed')]).toEqual([200, null])
})

test('a corrected request can use the key of one that failed validation', async () => {
  const wrong = await create('corrected', { name: '' })
  expect(wrong.status).toBe(400)
  const right = await create('corrected', { name: 'Right' })
  expect([right.status, right.headers.get('idempotent-replayed')]).toEqual([201, null])
})

test('a repeated request gets its reply when the plan is full, but not without the scope', async () => {
  const tight = uuidv7(Date.now())
  who.allow('carol', tight, ['streams:manage'])
  await app.database.run(
    `insert into probe_things (id, workspace_id, name, version)
     select gen_random_uuid(), $1, 'one of many', 1 from generate_series(1, $2)`,
    [tight, MAX_THINGS - 1],
  )
  expect((await create('last', { name: 'The last' }, 'carol', tight)).status).toBe(201)
  expect((await create('one-more', { name: 'One more' }, 'carol', tight)).status).toBe(402)
  expect((await create('last', { name: 'The last' }, 'carol', tight)).headers.get('idempotent-replayed')).toBe('true')
  who.allow('carol', tight, ['streams:read'])
  expect((await create('last', { name: 'The last' }, 'carol', tight)).status).toBe(403)
})

test('keys expire after 24 hours', async () => {
  const first = await create('daily')
  clock.advance(DAY - 1)
  expect((await create('daily')).headers.get('idempotent-replayed')).toBe('true')
  clock.advance(2)
  const third = await create('daily')
  expect([third.status, third.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(third.body.data._id).not.toBe(first.body.data._id)
})

test.each([['x'.repeat(256)], ['two words'], ['schlüssel']])('rejects the key %j', async (key) => {
  const reply = await app.send('POST /api/probe/secret', {
    token: 'ada',
    headers: { 'Idempotency-Key': Buffer.from(key).toString('latin1') },
  })
  expect([reply.status, reply.body.code]).toEqual([400, 'bad_request'])
})
