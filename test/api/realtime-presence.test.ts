import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { listMembers } from '../../src/domains/workspace/team/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock(Date.now())
let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ clock, env: { SOCKET_POLLING: '1' } })
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob', { role: 'editor' })
  await world.workspace('other', 'olga')
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

const presenceChanges = ({ events }: Listening) =>
  events.filter(({ name }) => name === 'presence.updated').map(({ data }) => `${data.userId} ${data.presence}`)

async function listed(name: string): Promise<{ presence: string; lastSeenAt: string | null }> {
  const { body } = await world.as('bob').call(listMembers, { path: { workspaceId: world.id('acme') } })
  return body.data.find((row: { name: string }) => row.name === name)
}

test('members receive presence changes, page reloads cause none, and the list agrees', async () => {
  expect(await listed('ada')).toMatchObject({ presence: 'offline', lastSeenAt: null })
  const bob = await sockets.connect(world.key('bob'))
  const olga = await sockets.connect(world.key('olga'))
  const ada = await sockets.connect(world.key('ada'))
  const id = world.id('ada')
  await waitFor(() => presenceChanges(bob).includes(`${id} online`))
  expect(await listed('ada')).toMatchObject({ presence: 'online', lastSeenAt: null })

  ada.socket.disconnect()
  await waitFor(async () => (await listed('ada')).presence === 'offline')
  clock.advance(2 * SECOND)
  const back = await sockets.connect(world.key('ada'))
  clock.advance(10 * SECOND)
  expect((await back.socket.emitWithAck('presence', { presence: 'away' })).status).toBe(200)
  await waitFor(() => presenceChanges(bob).includes(`${id} away`))
  expect(await listed('ada')).toMatchObject({ presence: 'away' })
  const second = await sockets.connect(world.key('ada'))
  await waitFor(() => presenceChanges(bob).length >= 4)

  const leftAt = clock.now()
  back.socket.disconnect()
  second.socket.disconnect()
  await waitFor(async () => (await listed('ada')).presence === 'offline')
  clock.advance(6 * SECOND)
  await waitFor(() => presenceChanges(bob).at(-1) === `${id} offline`)
  expect(presenceChanges(bob).filter((one) => one.startsWith(id))).toEqual(
    ['online', 'away', 'online', 'offline'].map((state) => `${id} ${state}`),
  )
  await waitFor(async () => (await listed('ada')).lastSeenAt === new Date(leftAt).toISOString())
  expect(presenceChanges(olga).filter((one) => !one.startsWith(world.id('olga')))).toEqual([])
  expect((await bob.socket.emitWithAck('presence', { presence: 'asleep' })).status).toBe(400)
})

test('a polling client that stops reading is disconnected', async () => {
  const workspaceId = world.id('acme')
  const address = `${app.url}/socket.io/?EIO=4&transport=polling`
  const opened = await (await fetch(address)).text()
  const session = `${address}&sid=${(JSON.parse(opened.slice(1)) as { sid: string }).sid}`
  await fetch(session, { method: 'POST', body: `40${JSON.stringify({ token: world.key('bob') })}` })
  expect(await (await fetch(session)).text()).toMatch(/^40\{"sid"/)
  const cut = async () => {
    const text = await app.node.resources.metrics.getSingleMetricAsString('crier_sockets_cut_total')
    return /crier_sockets_cut_total\{reason="too_slow"\} 1/.test(text)
  }
  for (let count = 0; count < 1_100; count += 1) {
    app.node.resources.coordination.publish(`ev:${workspaceId}`, [
      { workspaceId, seq: 1, type: 'member.removed', data: { count }, at: new Date().toISOString() },
    ])
  }
  // The time starts when the gateway first sees the full buffer.
  await waitFor(
    async () => {
      clock.advance(6 * SECOND)
      return cut()
    },
    { what: 'the client to be disconnected' },
  )
  // A client that polls again still gets the buffered packets and the reason, and then nothing more.
  expect(await (await fetch(session)).text()).toContain('42["closing",{"code":"too_slow"}]')
  await waitFor(async () => (await fetch(session)).status === 400)
})
