import { rawContentType } from '../../src/http/serialize.ts'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../src/core/example-ids.ts'
import type { OperationExample } from '../../src/core/openapi.ts'
import type { NamedOperation } from '../../src/core/operation.ts'
import { startApp, type App } from './app.ts'
import { ExampleMask } from './example-mask.ts'
import { LISTED, startOutside, stories, type Outside } from './example-stories.ts'
import { lists } from './fixtures.ts'
import type { Stage } from './stage.ts'
import { GITHUB_CLIENT } from './github.ts'
import { stageExample } from './matrix.ts'
import type { Reply, SendOptions } from './send.ts'
import { World } from './world.ts'

/** The requests to each operation of a running server, and its replies. */
export interface Recording {
  /** Examples by operation. */
  readonly examples: ReadonlyMap<string, OperationExample>
  /** The tokens, keys, signatures and addresses that were replaced in them. */
  readonly secrets: ReadonlySet<string>
}

/** Time between two requests, so that earlier rows are older. Short, because media nodes expire after a few seconds. */
const BETWEEN_REQUESTS = SECOND

/** Reads come after changes, so that what they reply with is not empty. */
function readsLast(operations: readonly NamedOperation[]): NamedOperation[] {
  const isRead = ({ method }: NamedOperation) => method === 'GET'
  return [...operations.filter((op) => !isRead(op)), ...operations.filter(isRead)]
}

/**
 * Sends the example of every operation to a new server. Skips those whose fixture expects an error.
 * @throws when any other reply is not a success
 */
export async function recordExamples(operations: readonly NamedOperation[]): Promise<Recording> {
  const outside = await startOutside()
  const clock = new ManualClock(Date.parse(EXAMPLE_TIME))
  const app = await startApp({
    clock,
    env: {
      // The outside servers run on this machine.
      ALLOW_PRIVATE_ADDRESSES: '1',
      PASSKEY_DOMAIN: 'crier.example.com',
      GITHUB_CLIENT_ID: GITHUB_CLIENT.id,
      GITHUB_CLIENT_SECRET: GITHUB_CLIENT.secret,
      GITHUB_URL: outside.github.url,
    },
  })
  try {
    return await new Recorder(app, clock, outside, operations).record()
  } finally {
    await app.stop()
    await outside.github.close()
    await outside.pictures.close()
  }
}

class Recorder {
  readonly #app: App
  readonly #clock: ManualClock
  readonly #outside: Outside
  readonly #operations: readonly NamedOperation[]
  readonly #world: World
  readonly #secrets = new Set<string>()

  constructor(app: App, clock: ManualClock, outside: Outside, operations: readonly NamedOperation[]) {
    this.#clock = clock
    this.#outside = outside
    this.#operations = operations
    this.#app = {
      ...app,
      send: (route, options) => {
        clock.advance(BETWEEN_REQUESTS)
        return app.send(route, options)
      },
    }
    this.#world = new World(this.#app)
  }

  async record(): Promise<Recording> {
    await this.#world.user('ada', { plan: 'business' })
    await this.#world.user('root', { admin: true })
    const examples = new Map<string, OperationExample>()
    for (const op of readsLast(this.#operations)) {
      const example = await this.#recordOne(op)
      if (example !== undefined) examples.set(op.name, example)
    }
    return { examples, secrets: this.#secrets }
  }

  async #recordOne(op: NamedOperation): Promise<OperationExample | undefined> {
    const owner = await this.#world.user('ada')
    const caller = op.access === 'admin' ? await this.#world.user('root') : owner
    const workspaceId = await this.#world.workspace('Acme', 'ada')
    const stage: Stage = { app: this.#app, workspaceId, owner, caller }
    const sent = await this.#requestOf(op, stage)
    if (sent === undefined) return undefined
    const reply = await this.#app.send(op.route as string, sent)
    const sentAt = this.#clock.now()
    if (reply.status >= 300) throw new Error(`the example of ${op.name} got ${reply.text}`)
    await this.#app.send('DELETE /api/workspaces/{workspaceId}', {
      apiKey: owner.apiKey,
      path: { workspaceId },
      body: { name: 'Acme' },
    })
    const mask = new ExampleMask({
      seed: op.name,
      sentAt,
      ids: this.#idsOf(op, stage, sent, reply),
      literal: op.example,
      addresses: this.#addresses(),
    })
    // A document of its own type, such as a feed, has no schema and no example.
    const isJson = typeof reply.body === 'object' && rawContentType(op.returns[reply.status]) === undefined
    const example = {
      ...(isFields(sent.body) ? { request: mask.apply(sent.body) } : {}),
      status: reply.status,
      ...(isJson ? { reply: mask.apply(reply.body) } : {}),
    }
    for (const secret of mask.secrets) this.#secrets.add(secret)
    return example
  }

  async #requestOf(op: NamedOperation, stage: Stage): Promise<SendOptions | undefined> {
    const { prepared, send } = await stageExample(op, stage)
    if (prepared.error !== undefined && stories[op.name] === undefined) return undefined
    const list = await lists[op.name]?.(stage, LISTED.rows)
    const story = await stories[op.name]?.(stage, this.#outside)
    const path = { ...send.path, ...list?.path, ...story?.path }
    const workspaceId = send.query?.['workspaceId']
    const ownQuery = list
      ? { ...(workspaceId !== undefined && { workspaceId }), ...list.query, limit: LISTED.limit }
      : { ...send.query, ...story?.query }
    return {
      ...send,
      ...list?.as,
      ...story?.as,
      path,
      query: ownQuery,
      ...(story?.body === undefined ? {} : { body: story.body }),
    }
  }

  /** Maps real ids to the ids that the examples of all operations use. */
  #idsOf(op: NamedOperation, { owner, workspaceId }: Stage, sent: SendOptions, reply: Reply): Map<string, string> {
    const ids = new Map<string, string>([
      [workspaceId, EXAMPLE.workspaceId],
      [owner.id, EXAMPLE.userId],
    ])
    const add = (id: unknown, shown: string | undefined) => {
      if (typeof id !== 'string' || shown === undefined || !UUID.test(id) || !UUID.test(shown)) return
      if (!ids.has(id) && ![...ids.values()].includes(shown)) ids.set(id, shown)
    }
    for (const [name, id] of Object.entries(sent.path ?? {})) add(id, op.example.path?.[name])
    // A created row, or the first of a list, gets the id that the operations on a single row use.
    const one = this.#operations.find(({ pattern }) => pattern.replace(/\/\{\w+\}$/, '') === op.pattern)
    const parameter = /\{(\w+)\}$/.exec(one?.pattern ?? '')?.[1] ?? ''
    const { data } = reply.body as { data?: { _id?: string } | { _id?: string }[] }
    const first = Array.isArray(data) ? data[0] : data
    add(first?._id, one?.example.path?.[parameter])
    return ids
  }

  #addresses(): Record<string, string> {
    const { PLATFORMS, PUBLIC_URL } = this.#app.node.resources.config
    const sandboxes = Object.entries(PLATFORMS).map(([name, { apiUrl }]) => [apiUrl, `https://${name}.example.com`])
    return {
      ...(Object.fromEntries(sandboxes) as Record<string, string>),
      ...Object.fromEntries(sandboxes.map(([url = '', name = '']) => [URL.parse(url)?.host, URL.parse(name)?.host])),
      [this.#app.url]: 'https://crier.example.com',
      [encodeURIComponent(PUBLIC_URL)]: encodeURIComponent('https://crier.example.com'),
      [this.#outside.pictures.url]: 'https://cdn.example.com',
      'http://localhost:7777': 'https://app.example.com',
      [this.#app.config.PUBLIC_RTMP_URL]: 'rtmp://crier.example.com/live',
      '93.184.216.34': 'live.example.com',
      '127.0.0.1': '203.0.113.7',
    }
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function isFields(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !ArrayBuffer.isView(body)
}
