import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { startApp, type App } from '../support/app.ts'
import { stageExample } from '../support/matrix.ts'
import { World } from '../support/world.ts'

/** A PUT or PATCH with the resource as GET returned it is accepted and changes nothing. */

interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

const operations = walk(api)
const fieldsOf = (schema: Schema | undefined) => Object.keys(schema?.properties ?? {})
/** Operations whose body has fields of the resource. Others take parts of another resource. */
const editing = operations.filter(({ body, resource }) =>
  fieldsOf(resource).some((field) => fieldsOf(body).includes(field)),
)
const readable = new Map(operations.filter(({ method }) => method === 'GET').map((op) => [op.pattern, op]))
/** Fields that change with every edit; `seq` is the number of the newest change in a channel. */
const VERSION = ['version', 'updatedAt', 'seq']

let app: App
let world: World
let workspaceId: string

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('owner', { plan: 'business' })
  await world.user('admin', { admin: true })
  workspaceId = await world.workspace('acme', 'owner')
})
afterAll(() => app?.stop())

const optionsOf = (schema: Schema): readonly Schema[] => schema.anyOf?.flatMap(optionsOf) ?? [schema]
const takesNull = (schema: Schema) =>
  optionsOf(schema).some((one) => one.type === 'null' || (one.type === undefined && one.const === undefined))

/** Paths at which one schema returns null and the other rejects it. */
function refusedNulls(given: Schema, taken: Schema, path = ''): string[] {
  const found = takesNull(given) && !takesNull(taken) ? [path] : []
  for (const from of optionsOf(given)) {
    for (const to of optionsOf(taken)) {
      for (const [name, field] of Object.entries(from.properties ?? {})) {
        const target = to.properties?.[name]
        if (target) found.push(...refusedNulls(field, target, `${path}/${name}`))
      }
      if (from.items && to.items) found.push(...refusedNulls(from.items, to.items, `${path}/*`))
    }
  }
  return found
}

describe.each(editing.map((op) => [op.route as string, op] as const))('%s', (_route, op) => {
  test('accepts null wherever its resource can be null', () => {
    expect(refusedNulls(op.resource as Schema, op.body as Schema)).toEqual([])
  })

  test('accepts its resource as it was read', async () => {
    const owner = await world.user('owner')
    const caller = op.access === 'admin' ? await world.user('admin') : owner
    const { send } = await stageExample(op, { app, workspaceId, owner, caller })
    const { body: _body, ...where } = send
    const given = (send.body ?? {}) as Record<string, unknown>
    const call = async (one: NamedOperation, options: object) => {
      // A GET that has no id in its path takes in the query what the edit takes in the body.
      const query = { ...where.query, ...only(fieldsOf(one.query), given) }
      const reply = await app.send(one.route as string, { ...where, query, ...options })
      expect(reply.status, reply.text).toBe(200)
      return reply.body.data as Record<string, unknown>
    }
    const reading = readable.get(op.pattern)
    // Without a GET the reply to an edit shows the resource.
    const before = reading ? await call(reading, {}) : await call(op, { body: send.body })
    const edited = await call(op, { body: before })
    const after = reading ? await call(reading, {}) : edited
    expect(comparable(after)).toEqual(comparable(before))
  })
})

test('accepts a channel without a topic, and an archived channel', async () => {
  const { body } = await world.as('owner').call('POST /api/team/{workspaceId}/channels', {
    path: { workspaceId },
    body: { kind: 'channel', name: 'plain' },
  })
  const path = { workspaceId, channelId: body.data._id as string }
  const edit = (change: object) =>
    world.as('owner').call('PATCH /api/team/{workspaceId}/channels/{channelId}', { path, body: change })
  expect(body.data.topic).toBeNull()
  expect((await edit(body.data)).status).toBe(200)
  const archived = await edit({ archived: true })
  expect((await edit(archived.body.data)).body.data).toMatchObject({ archivedAt: archived.body.data.archivedAt })
  expect((await edit({ topic: 'New' })).body.code).toBe('channel_archived')
  expect((await edit({ name: null })).body.errors).toMatchObject([{ path: '/body/name' }])
})

const only = (names: readonly string[], record: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)))

/** The value without the fields that change with every edit, at any depth. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => !VERSION.includes(name))
  return Object.fromEntries(kept.map(([name, field]) => [name, comparable(field)]))
}
