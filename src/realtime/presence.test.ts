import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Listeners, type Coordination } from '../coordination/coordination.ts'
import { ManualClock, SECOND } from '../core/clock.ts'
import { createLog } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import type { PresenceState } from '../core/presence-state.ts'
import { Presence } from './presence.ts'

/** Connects the nodes of a test. A node that is cut off neither sends nor receives messages. */
class Wire {
  /** Heartbeats of nodes that are not cut off. */
  beats = 0
  readonly #links: { readonly listeners: Listeners; cut: boolean; readonly recovered: Set<() => void> }[] = []

  link(): { coordination: Coordination; cut: (isCut: boolean) => void } {
    const own = {
      listeners: new Listeners((error) => expect.unreachable(String(error))),
      cut: false,
      recovered: new Set<() => void>(),
    }
    this.#links.push(own)
    const coordination: Coordination = {
      kind: 'redis',
      linked: true,
      publish: (channel, message) => {
        if (!own.cut && (message as { beat?: boolean }).beat) this.beats += 1
        for (const link of own.cut ? [own] : this.#links) {
          if (!link.cut || link === own) link.listeners.call(channel, structuredClone(message))
        }
      },
      subscribe: (channel, listener) => own.listeners.add(channel, listener),
      onRecovered: (listener) => {
        own.recovered.add(listener)
        return () => own.recovered.delete(listener)
      },
      readAgain: () => undefined,
      warnings: async () => [],
      ping: async () => 0,
      close: async () => undefined,
    }
    return {
      coordination,
      cut: (isCut) => {
        own.cut = isCut
        if (!isCut) for (const listener of own.recovered) listener()
      },
    }
  }
}

const noTable: Sql = { rows: async () => [], row: async () => undefined, run: async () => 0 }

let clock: ManualClock
let wire: Wire
let open: Presence[]
beforeEach(() => {
  clock = new ManualClock(0)
  wire = new Wire()
  open = []
})
afterEach(async () => {
  for (const presence of open) await presence.close()
})

function node() {
  const { coordination, cut } = wire.link()
  const told: string[] = []
  const presence = new Presence({
    sql: noTable,
    coordination,
    clock,
    log: createLog({ level: 'silent' }),
    onChange: (changes) => told.push(...changes.map(({ state, userId }) => `${userId} ${state}`)),
  })
  open.push(presence)
  const state = async (userId: string): Promise<PresenceState | undefined> =>
    (await presence.of([userId])).get(userId)?.state
  return { presence, told, state, cut }
}

test('a user is online while connected to any node, and away when all of their sockets are away', async () => {
  const [one, two] = [node(), node()]
  one.presence.set('ada', 'online')
  two.presence.set('ada', 'away')
  await waitFor(() => one.told.length === 1 && two.told.length >= 1)
  expect(await two.state('ada')).toBe('online')
  one.presence.set('ada', 'away')
  await waitFor(() => two.told.includes('ada away') && one.told.includes('ada away'))
  one.presence.set('ada', undefined)
  await waitFor(async () => (await one.state('ada')) === 'away')
  two.presence.set('ada', undefined)
  await waitFor(async () => (await one.state('ada')) === 'offline')
  expect([one.told.at(-1), two.told.at(-1)]).toEqual(['ada away', 'ada away'])
  clock.advance(6 * SECOND)
  await waitFor(() => one.told.at(-1) === 'ada offline' && two.told.at(-1) === 'ada offline')
})

test('a user who reconnects at once does not go offline', async () => {
  const [one, two] = [node(), node()]
  one.presence.set('ada', 'online')
  await waitFor(() => two.told.length === 1)
  one.presence.set('ada', undefined)
  await waitFor(async () => (await two.state('ada')) === 'offline')
  clock.advance(3 * SECOND)
  two.presence.set('ada', 'online')
  await waitFor(async () => (await one.state('ada')) === 'online')
  clock.advance(6 * SECOND)
  one.presence.set('bob', 'online')
  await waitFor(() => one.told.includes('bob online') && two.told.includes('bob online'))
  expect(two.told).toEqual(['ada online', 'bob online'])
})

test('users of a dead node go offline, and a new node learns who is online', async () => {
  const [one, dying] = [node(), node()]
  dying.presence.set('ada', 'online')
  one.presence.set('bob', 'online')
  await waitFor(() => one.told.length === 2)
  const late = node()
  await waitFor(async () => (await late.state('ada')) === 'online' && (await late.state('bob')) === 'online')
  dying.cut(true)
  // In steps, so that the live nodes send heartbeats in between.
  for (let step = 0; step < 5; step += 1) {
    const before = wire.beats
    clock.advance(5 * SECOND)
    await waitFor(() => wire.beats === before + 2, { what: 'heartbeats of both live nodes' })
  }
  await waitFor(() => one.told.includes('ada offline') && late.told.includes('ada offline'))
  expect(await one.state('bob')).toBe('online')
  expect(await late.state('bob')).toBe('online')
  dying.cut(false)
  clock.advance(5 * SECOND)
  await waitFor(async () => (await one.state('ada')) === 'online')
})

test('a node requests the changes that it missed', async () => {
  const [one, two] = [node(), node()]
  one.presence.set('ada', 'online')
  await waitFor(async () => (await two.state('ada')) === 'online')
  two.cut(true)
  one.presence.set('ada', undefined)
  one.presence.set('cleo', 'online')
  await waitFor(() => one.told.includes('cleo online'))
  expect(await two.state('cleo')).toBe('offline')
  two.cut(false)
  await waitFor(async () => (await two.state('cleo')) === 'online' && (await two.state('ada')) === 'offline')
})
