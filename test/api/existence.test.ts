import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { startApp, type App } from '../support/app.ts'
import { fixtures } from '../support/fixtures.ts'
import type { Stage } from '../support/stage.ts'
import { idAt, idPlaces, NOTHING, stageExample, withId, type Place } from '../support/matrix.ts'
import type { SendOptions } from '../support/send.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { World } from '../support/world.ts'

/**
 * Replies do not reveal which ids other tenants have. The owner of a workspace calls each operation twice, with another
 * tenant's id and with an unknown id, at every place of the request that takes an id. Both replies must be equal, over
 * REST and sockets.
 */

let app: App
let world: World
let socket: Listening
const sockets = new Sockets(() => app)
const stages = {} as Record<'theirs' | 'own', Stage>

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  for (const [name, user] of [
    ['theirs', 'ada'],
    ['own', 'olga'],
  ] as const) {
    const owner = await world.user(user, { plan: 'business' })
    const workspaceId = await world.workspace(name, user)
    const caller = await world.user(`${user}-colleague`)
    await world.member(name, caller.name, { role: 'owner' })
    stages[name] = { app, workspaceId, owner, caller }
  }
  socket = await sockets.connect(stages.own.caller.apiKey)
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

/** Anyone who has the URL of a profile picture can see it. Published books belong to nobody. */
const OPEN_TO_ALL = new Set(['getProfilePicture', 'downloadBook'])

const operations = walk(api).filter(({ access, name }) => access !== 'admin' && !OPEN_TO_ALL.has(name))

/** The parts of a reply that a caller sees, without the id they sent. */
function visible(reply: { readonly status: number; readonly body?: unknown }, id: string): string {
  return `${reply.status} ${JSON.stringify({ ...(reply.body as object), requestId: '' }).replaceAll(id, 'ID')}`
}

/** The same over a socket, when the operation can be called there. */
async function visibleOverSocket(op: NamedOperation, { body, path, query }: SendOptions, id: string): Promise<string> {
  const named = op.socket !== true
  const message = named
    ? { ...path, ...query, ...(body as object | undefined) }
    : { operation: op.name, path, query, body }
  return visible(await socket.socket.emitWithAck(named ? (op.socket as string) : 'call', message), id)
}

async function expectSame(op: NamedOperation, send: SendOptions, place: Place, foreign: string): Promise<void> {
  const over = {
    rest: async (id: string) => visible(await app.send(op.route as string, withId(send, place, id)), id),
    socket: (id: string) => visibleOverSocket(op, withId(send, place, id), id),
  }
  for (const [transport, request] of Object.entries(over)) {
    if (transport === 'socket' && op.socket === undefined) continue
    const missing = await request(NOTHING)
    expect(await request(foreign), `${place.join('/')} over ${transport}`).toBe(missing)
  }
}

const withIds = operations.filter((op) => idPlaces(op.example).length > 0 || op.name in fixtures)

test.each(withIds.map((op) => [op.name, op] as const))(
  '%s gives the same reply for another tenant’s id and an unknown id',
  async (_name, op) => {
    const { send: theirs } = await stageExample(op, stages.theirs)
    const { send } = await stageExample(op, stages.own)
    for (const place of idPlaces(send)) {
      const foreign = idAt(theirs, place)
      if (foreign !== undefined && foreign !== idAt(send, place)) await expectSame(op, send, place, foreign)
    }
  },
)

test('the comparisons cover ids in paths and bodies', async () => {
  const compared: string[] = []
  for (const name of [
    'declineInvitation',
    'getGroup',
    'editMessage',
    'whepPlay',
    'revokeSession',
    'addChannelMembers',
  ]) {
    const op = operations.find((one) => one.name === name) as NamedOperation
    compared.push(...idPlaces((await stageExample(op, stages.own)).send).map((place) => place.join('/')))
  }
  expect(compared).toEqual(
    expect.arrayContaining(['path/token', 'path/id', 'path/messageId', 'path/channelId', 'body/userIds/0']),
  )
})
