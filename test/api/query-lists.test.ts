import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { uuidv7 } from '../../src/tools/id.ts'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { api } from '../../src/registry/api.ts'
import { startApp, type App } from '../support/app.ts'
import { lists } from '../support/fixtures.ts'
import { stageExample } from '../support/matrix.ts'
import { send, type Reply, type SendOptions } from '../support/send.ts'
import type { Stage } from '../support/stage.ts'
import { World } from '../support/world.ts'

/** Every query parameter takes either one value, or one and several. Generated from the registry. */

interface Parameter {
  readonly type?: string
  readonly items?: Item
}
interface Item {
  readonly enum?: readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly anyOf?: readonly Item[]
}

const parametersOf = (op: NamedOperation) =>
  Object.entries((op.query as { properties?: Record<string, Parameter> } | undefined)?.properties ?? {})
const isList = ({ type }: Parameter) => type === 'array'
const withQuery = walk(api).filter((op) => parametersOf(op).length > 0)
const withLists = withQuery.filter((op) => parametersOf(op).some(([, parameter]) => isList(parameter)))

let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('owner', { plan: 'business' })
  await world.user('admin', { admin: true })
  await world.workspace('acme', 'owner')
})
afterAll(() => app?.stop())

async function stageFor(op: NamedOperation): Promise<Stage> {
  const owner = await world.user('owner')
  return {
    app,
    workspaceId: world.id('acme'),
    owner,
    caller: op.access === 'admin' ? await world.user('admin') : owner,
  }
}

/** Sends a request with this text added to its query. */
function sendText(op: NamedOperation, sent: SendOptions, text: string): Promise<Reply> {
  const { query = {}, ...rest } = sent
  const before = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  const route = `${op.route as string}?${[new URLSearchParams(before).toString(), text].filter(Boolean).join('&')}`
  return send(app.url, route, rest)
}

/** Several valid values of a filter. */
function valuesOf(item: Item): string[] {
  if (item.enum) return [...item.enum]
  if (item.anyOf) return item.anyOf.flatMap((one) => ('const' in one ? [String(one.const)] : valuesOf(one).slice(0, 2)))
  if (item.format === 'uuid') return [uuidv7(1), uuidv7(2)]
  if (item.pattern?.startsWith('^(owner|')) return ['owner', 'editor', uuidv7(1)]
  return ['mastodon', 'facebook']
}

describe.each(withQuery.map((op) => [op.name, op] as const))('%s', (_name, op) => {
  const single = parametersOf(op).filter(([, parameter]) => !isList(parameter))

  test.skipIf(single.length === 0)('refuses to repeat a parameter that takes one value', async () => {
    const { send: sent } = await stageExample(op, await stageFor(op))
    for (const [name] of single) {
      const { [name]: _, ...query } = sent.query ?? {}
      const reply = await sendText(op, { ...sent, query }, `${name}=1&${name}=1`)
      expect([name, reply.status, reply.body.code]).toEqual([name, 400, 'validation_failed'])
      expect(reply.body.errors).toContainEqual({
        path: `/query/${name}`,
        code: 'repeated',
        message: 'must not be repeated: it takes one value',
      })
    }
  })
})

describe.each(withLists.map((op) => [op.name, op] as const))('%s', (name, op) => {
  test('takes one value of a filter, and several, repeated or with commas', async () => {
    const stage = await stageFor(op)
    const { send: example } = await stageExample(op, stage)
    const { as, path, query } = (await lists[name]?.(stage, 2)) ?? {}
    const required = (op.query as { required?: readonly string[] }).required ?? []
    const kept = Object.entries(example.query ?? {}).filter(([one]) => required.includes(one))
    const sent = {
      ...example,
      ...as,
      path: { ...example.path, ...path },
      query: { ...Object.fromEntries(kept), ...query },
    }
    for (const [parameter, { items = {} }] of parametersOf(op).filter(([, one]) => isList(one))) {
      const values = valuesOf(items)
      const { [parameter]: _, ...rest } = sent.query
      const others = { ...rest, ...('limit' in (op.query as { properties: object }).properties && { limit: 100 }) }
      const list = async (text: string) => {
        const reply = await sendText(op, { ...sent, query: others }, text)
        expect(reply.body.errors, text).toBeUndefined()
        return { reply, ids: idsOf(reply) }
      }
      // Jobs of the fixtures still change their state.
      await vi.waitFor(async () => {
        const repeated = await list(values.map((value) => `${parameter}=${value}`).join('&'))
        const withCommas = await list(`${parameter}=${values.join()}`)
        expect([withCommas.reply.status, withCommas.ids]).toEqual([repeated.reply.status, repeated.ids])
        const single = await Promise.all(values.map((value) => list(`${parameter}=${value}`)))
        expect(single.map(({ reply }) => reply.status)).toEqual(values.map(() => repeated.reply.status))
        // Figures of accounts that are not there are an error.
        if (parameter !== 'accountIds') expect(repeated.reply.status, parameter).toBe(200)
        const newest = [...new Set(single.flatMap(({ ids }) => ids ?? []))].sort()
        // Both pages are full if there is more than one page.
        if (repeated.ids && newest.length <= 100) expect(repeated.ids).toEqual(newest)
      }, 60_000)
    }
  })
})

/** The ids of a list on one page. */
function idsOf({ body }: Reply): string[] | undefined {
  if (!Array.isArray(body?.data)) return undefined
  return (body.data as { _id: string }[]).map(({ _id }) => _id).sort()
}

test('a filter is a list in the API document, which takes both forms', async () => {
  const { body: document } = await app.send('GET /api/openapi.json')
  for (const op of withQuery) {
    const described = document.paths[op.pattern][op.method.toLowerCase()].parameters
    for (const [name, parameter] of parametersOf(op)) {
      const found = described.find((one: { in?: string; name?: string }) => one.in === 'query' && one.name === name)
      if (isList(parameter)) {
        expect(found).toMatchObject({ style: 'form', explode: true, schema: { type: 'array' } })
        expect(found.description).toContain('Repeat the parameter for several values, or separate values by commas')
      } else expect(found).not.toHaveProperty('explode')
    }
  }
})

test('every list filters by several values of what has a fixed set of values, or is an id', () => {
  // What takes one value only, and why.
  const ONE: Readonly<Record<string, string>> = {
    sort: 'a list has one order',
    workspaceId: 'the workspace whose members may see the list',
    format: 'a reply has one format',
    'listMessages.replyTo': 'a thread has one beginning',
  }
  const single = withQuery
    .filter((op) => parametersOf(op).some(([name]) => name === 'cursor'))
    .flatMap((op) =>
      parametersOf(op)
        .filter(([, parameter]) => 'enum' in parameter || (parameter as Item).format === 'uuid')
        .filter(([name]) => !(name in ONE) && !(`${op.name}.${name}` in ONE))
        .map(([name]) => `${op.name}.${name}`),
    )
  expect(single).toEqual([])
})
