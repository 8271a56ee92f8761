import { afterAll, beforeAll, expect, test } from 'vitest'
import { walk } from '../../src/core/operation.ts'
import { workspaces } from '../../src/domains/workspace/workspaces/tables.ts'
import { api } from '../../src/registry/api.ts'
import { PostWorld } from '../support/post-world.ts'

/** Every request that takes a time zone accepts names of areas and UTC, and nothing else. */

let world: PostWorld
let accountId: string

beforeAll(async () => {
  world = await PostWorld.start('time-zones')
  accountId = await world.account()
})
afterAll(() => world.stop())

const send = (route: string, sent: object = {}) => world.app.send(route, { apiKey: world.owner.apiKey, ...sent })

interface Schema {
  readonly format?: string
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

/** The fields of a request that name a time zone, with their schemas. */
function zonesIn(schema: Schema | undefined, path: string): [string, Schema][] {
  if (schema === undefined) return []
  const inner = [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])].flatMap((one) => zonesIn(one, path))
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Schema][] =>
    /time_?zone$|^tz$/i.test(name) ? [[`${path}/${name}`, field]] : zonesIn(field, `${path}/${name}`),
  )
  return [...inner, ...own]
}

test('every operation that reads a time zone reads it as the name of an area', () => {
  const fields = walk(api).flatMap((operation) =>
    (['body', 'query'] as const).flatMap((part) =>
      zonesIn((operation as { [P in typeof part]?: Schema })[part], `${operation.route} ${part}`),
    ),
  )
  expect(fields.length).toBeGreaterThan(10)
  for (const [path, { anyOf, format }] of fields) {
    const formats = anyOf?.flatMap((one) => one.format ?? []) ?? [format]
    expect([path, ...formats]).toEqual([path, 'iana-time-zone'])
  }
})

const FAULT = {
  code: 'format',
  message:
    'must be the name of an area in the IANA time zone database, or UTC: "EST" is not the name of an area. Write America/New_York, America/Toronto or America/Panama, whichever you mean',
}
const time = { scheduledFor: '2027-07-01T09:00', timezone: 'EST' }

test.each([
  ['POST /api/workspaces', {}, { name: 'Acme', timezone: 'EST' }, '/body/timezone'],
  ['PATCH /api/users/me', {}, { timezone: 'EST' }, '/body/timezone'],
  ['PATCH /api/users/me/settings/publishing', {}, { defaultTimezone: 'EST' }, '/body/defaultTimezone'],
  ['PATCH /api/users/me/settings/notifications', {}, { quietHours: { timezone: 'EST' } }, '/body/quietHours/timezone'],
  ['PATCH /api/workspaces/{workspaceId}', { path: 'workspaceId' }, { timezone: 'EST' }, '/body/timezone'],
  [
    'POST /api/approvals/{workspaceId}/guests',
    { path: 'workspaceId' },
    { name: 'Grace', timezone: 'EST' },
    '/body/timezone',
  ],
  ['PUT /api/posts/queue', {}, { slots: [], timezone: 'EST' }, '/body/timezone'],
  ['POST /api/posts', {}, { content: 'a', ...time }, '/body/timezone'],
  [
    'POST /api/posts',
    {},
    { content: 'a', targets: [{ accountId: 'own', override: time }] },
    '/body/targets/0/override/timezone',
  ],
  ['POST /api/posts/validate', {}, { content: 'a', ...time }, '/body/timezone'],
] as const)('%s refuses EST and offers the zones it may mean', async (route, { path }: { path?: string }, body, at) => {
  const known = walk(api).find((operation) => operation.route === route) as { body?: Schema } | undefined
  const inWorkspace = known?.body?.properties?.['workspaceId'] !== undefined
  const text = JSON.stringify({ ...body, ...(inWorkspace && { workspaceId: world.workspaceId }) })
  const reply = await send(route, {
    body: JSON.parse(text.replace('"own"', JSON.stringify(accountId))),
    ...(path !== undefined && { path: { [path]: world.workspaceId } }),
  })
  expect(reply.status, reply.text).toBe(400)
  expect(reply.body.errors).toEqual([{ path: at, ...FAULT }])
})

test.each([
  ['BST', 'Europe/London or Asia/Dhaka'],
  ['IST', 'Asia/Kolkata, Europe/Dublin or Asia/Jerusalem'],
  ['Etc/GMT+5', 'is an offset'],
])('a row of a CSV file with %s is refused with help', async (zone, help) => {
  const csv = `content,accounts,scheduledFor,timezone\nhello,${accountId},2027-07-01 09:00,${zone}`
  const reply = await send('POST /api/posts/bulk', { body: { workspaceId: world.workspaceId, csv, dryRun: true } })
  expect(reply.status, reply.text).toBe(200)
  const [error] = reply.body.data.rows[0].errors
  expect(error).toMatchObject({ code: 'format', column: 'timezone' })
  expect(error.message).toContain(help)
})

test('an abbreviation that was stored before keeps its meaning, until another zone is chosen', async () => {
  await workspaces.update(world.app.database, { id: world.workspaceId }, { timezone: 'EST' })
  const post = await world.create({ content: 'old', targets: [{ accountId }], scheduledFor: '2027-07-01T09:00' })
  expect(post).toMatchObject({ timezone: 'EST', scheduledFor: '2027-07-01T14:00:00.000Z' })
  const queue = await send('GET /api/posts/queue', { query: { workspaceId: world.workspaceId } })
  expect([queue.status, queue.body.data.effectiveTimezone]).toEqual([200, 'EST'])
  const path = { workspaceId: world.workspaceId }
  const changed = await send('PATCH /api/workspaces/{workspaceId}', { path, body: { timezone: 'America/New_York' } })
  expect(changed.status, changed.text).toBe(200)
  const next = await world.create({ content: 'new', targets: [{ accountId }], scheduledFor: '2027-07-01T09:00' })
  expect(next.scheduledFor).toBe('2027-07-01T13:00:00.000Z')
})
