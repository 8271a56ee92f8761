import { Compile } from 'typebox/compile'
import type { TSchema } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { startApp, type App } from '../support/app.ts'
import { nested, variants } from '../support/extremes.ts'
import type { Stage } from '../support/stage.ts'
import { stageExample } from '../support/matrix.ts'
import type { SendOptions } from '../support/send.ts'
import { Sockets } from '../support/sockets.ts'
import { World } from '../support/world.ts'

/** No operation returns 500 for input at the limits of its schema or beyond them. */

const operations = walk(api)
const AT_ONCE = 8
let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('owner', { plan: 'business' })
  await world.user('admin', { admin: true })
  await world.workspace('acme', 'owner')
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

const checks = new Map<object, (value: unknown) => boolean>()

function accepts(schema: object, value: unknown): boolean {
  let check = checks.get(schema)
  if (check === undefined) {
    const compiled = Compile(schema as TSchema)
    check = (input) => compiled.Check(input)
    checks.set(schema, check)
  }
  return check(value)
}

async function stageFor(op: NamedOperation): Promise<SendOptions> {
  const owner = await world.user('owner')
  const caller = op.access === 'admin' ? await world.user('admin') : owner
  const stage: Stage = { app, workspaceId: world.id('acme'), owner, caller }
  // Failed logins of earlier requests would lock the owner out.
  await app.database.run('delete from login_throttles')
  return (await stageExample(op, stage)).send
}

/** Variants of the example that differ in one part. */
function requests(op: NamedOperation, send: SendOptions): SendOptions[] {
  const ordinal = operations.indexOf(op)
  const path = variants(op.path, send.path ?? {}, accepts, ordinal) as Record<string, string>[]
  const texts = path.filter((values) => Object.values(values).every((value) => typeof value === 'string'))
  const query = variants(op.query, send.query ?? {}, accepts, ordinal)
  const body = isFields(send.body) ? variants(op.body, send.body, accepts, ordinal) : []
  return [
    ...texts
      .filter((values) => Object.values(values).every((value) => value !== '' && value.isWellFormed()))
      .map((values) => ({ ...send, path: values })),
    ...query.map((values) => ({ ...send, query: values })),
    ...body.map((values) => ({ ...send, body: values })),
  ]
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
}

/** Handles all items, a few at a time. */
async function each<T>(
  items: readonly T[],
  send: (item: T) => Promise<{ readonly status: number }>,
): Promise<number[]> {
  const rest = [...items]
  const statuses: number[] = []
  const work = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      const { status } = await send(item)
      statuses.push(status)
      if (status === 500) {
        const cause = String(app.logs.findLast((line) => line['cause'])?.['cause'])
        expect.fail(`500 to ${JSON.stringify(item).slice(0, 600)}: ${cause}`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return statuses
}

describe.each(operations.map((op) => [op.name, op] as const))('%s', (name, op) => {
  test('never returns 500', async () => {
    const send = await stageFor(op)
    await each(requests(op, send), (request) => app.send(op.route as string, request))
    if (name === 'toggleService')
      await app.send(op.route as string, { ...send, path: { serviceKey: 'streams' }, body: { enabled: true } })
    if (op.body === undefined || op.bodyType !== undefined || op.upload) return
    const deep = '['.repeat(40_000) + ']'.repeat(40_000)
    const reply = await app.send(op.route as string, {
      ...send,
      body: deep,
      headers: { 'Content-Type': 'application/json' },
    })
    expect([400, 413]).toContain(reply.status)
  })

  if (op.socket === undefined) return
  test('never returns 500 over a socket', async () => {
    const send = await stageFor(op)
    const { socket } = await sockets.connect(send.apiKey ?? '')
    const call = (request: SendOptions) =>
      socket.emitWithAck('call', {
        operation: name,
        path: request.path ?? {},
        query: request.query ?? {},
        ...(request.body === undefined ? {} : { body: request.body }),
      }) as Promise<{ status: number }>
    const known = requests(op, send).filter((request) => JSON.stringify(request).length < 50_000)
    const statuses = await each(known, call)
    expect(statuses).toHaveLength(known.length)
    expect((await call({ ...send, query: { unheardOf: nested(500) } })).status).toBe(400)
    socket.disconnect()
  })
})

test('rejects a socket message nested 40,000 levels deep with 400', async () => {
  const { socket } = await sockets.connect(world.key('owner'))
  const answered = new Promise<string>((resolve) => {
    socket.io.engine.on('packet', ({ data }: { data?: unknown }) => {
      if (typeof data === 'string' && data.startsWith('3777')) resolve(data)
    })
  })
  const body = '['.repeat(40_000) + ']'.repeat(40_000)
  const call = `{"operation":"createChannel","path":{"workspaceId":"${world.id('acme')}"},"body":${body}}`
  // Sent as raw text, because the client cannot serialize such a message.
  socket.io.engine.write(`2777["call",${call}]`)
  expect(await answered).toContain('"status":400')
})
