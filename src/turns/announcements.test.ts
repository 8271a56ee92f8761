import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { cutProxy, type CutProxy } from '../../test/support/cut-proxy.ts'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { waitFor } from '../../test/support/wait.ts'
import { FencedError } from '../../actors/index.ts'
import { ManualClock, systemClock } from '../core/clock.ts'
import { contextFactory } from '../core/context.ts'
import { DatabaseUnavailable } from '../core/errors.ts'
import { event, type Audience, type WorkspaceEvent } from '../core/event.ts'
import { uuidv7 } from '../tools/id.ts'
import { createLog } from '../core/log.ts'
import { Type } from '../core/schema.ts'
import type { Services } from '../core/services.ts'
import { systemTurn } from '../core/system-turn.ts'
import { Database } from '../db/database.ts'
import { workspaceOf } from './actor-name.ts'
import { Announcements } from './announcements.ts'
import { TurnExecutor } from './turn-executor.ts'

const log = createLog({ level: 'silent' })
const said = event({
  name: 'word.said',
  summary: 'x',
  scope: 'team:read',
  data: Type.Object({ word: Type.String() }),
  example: { word: 'x' },
})
const heard = event({ ...said, name: 'word.heard', stored: false })

const say = systemTurn<{ words: string[]; stored?: boolean; only?: Audience }, null>({
  name: 'say',
  run: async ({ turn, input: { stored = true, words, only } }) => {
    for (const word of words) turn.emit(stored && !word.startsWith('~') ? said : heard, { word }, only)
    return null
  },
})

let made: TestDatabase
let proxy: CutProxy | undefined
let database: Database
let nodes: { database: Database; announcements: Announcements }[] = []

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 2, entities: [], log })
})
afterEach(async () => {
  await proxy?.close()
  for (const node of nodes.splice(0)) {
    await node.announcements.close()
    await node.database.close()
  }
  // A single node leaves marks, which the nodes of another test would recover.
  await database.run('update actor_fence set unannounced_after = null')
})
afterAll(async () => {
  await database.close()
  await made.drop()
})

/** A node, and what it has published to all nodes, in order. */
async function startNode({ shared = true, url = made.url } = {}) {
  const own = await Database.connect({ url, poolSize: 3, entities: [], log })
  const published: unknown[] = []
  const events: WorkspaceEvent[] = []
  const outlets = {
    database: own,
    clock: systemClock,
    log,
    publish: (_: string, some: readonly WorkspaceEvent[]) => {
      events.push(...some)
      published.push(...some.map(({ data, seq }) => [seq, (data as { word: string }).word]))
    },
  }
  const announcements = new Announcements({
    ...outlets,
    shared,
    missed: () => void published.push('missed'),
  })
  announcements.onAgain(() => void published.push('forget'))
  const executor = new TurnExecutor({
    ...outlets,
    announcements,
    operations: new Map(),
    systemTurns: new Map([[say.name, say]]),
    keepReply: () => undefined,
    jobs: { make: () => ({ id: '', statement: '', row: {} }), wake: () => undefined },
  })
  executor.serve({} as Services, contextFactory({} as Services))
  nodes.push({ database: own, announcements })
  const batch = (actor: string, epoch: number, words: string[], stored?: boolean, only?: Audience) =>
    executor.execute(actor, epoch, [
      {
        actor,
        operationId: uuidv7(Date.now()),
        caller: 'system',
        deadline: Infinity,
        payload: { kind: 'system', name: 'say', input: { words, stored, only } },
      },
    ])
  return { announcements, batch, events, executor, published }
}

const newActor = () => `ws:${uuidv7(Date.now())}`
const markOf = async (actor: string) =>
  (
    await database.row<{ after: number | null }>('select unannounced_after as after from actor_fence where key = $1', [
      actor,
    ])
  )?.after

it('publishes the last batch of the previous owner again, and a notice that older events may be missed', async () => {
  const actor = newActor()
  const [previous, successor] = [await startNode(), await startNode()]
  const epoch = await previous.executor.activate(actor)
  await previous.batch(actor, epoch, ['one', 'two'])
  await previous.batch(actor, epoch, ['three', 'four'])
  const next = await successor.executor.activate(actor)
  expect(successor.published).toEqual(['forget', [3, 'three'], [4, 'four'], 'missed'])
  await successor.batch(actor, next, ['five'])
  expect(successor.published.slice(4)).toEqual([[5, 'five']])
  // A node does not publish its own events again.
  await successor.executor.activate(actor)
  expect(successor.published).toHaveLength(5)
})

/** @returns a function that puts an actor's row and events back to now, as the promotion of a late standby does */
async function rememberRow(actor: string) {
  const row = await database.row<{ epoch: number; seq: number; batch: string }>(
    'select epoch, seq, batch from actor_fence where key = $1',
    [actor],
  )
  return async () => {
    const events = 'delete from workspace_events where workspace_id = $1 and seq > $2'
    await database.run(events, [workspaceOf(actor), row?.seq ?? null])
    const fence = 'update actor_fence set epoch = $2, seq = $3, batch = $4 where key = $1'
    await database.run(fence, [actor, row?.epoch ?? null, row?.seq ?? null, row?.batch ?? null])
  }
}

it.each([true, false])('notices that the database lost its last batch, with stored events: %s', async (stored) => {
  const actor = newActor()
  const node = await startNode({ shared: false })
  const epoch = await node.executor.activate(actor)
  await node.batch(actor, epoch, ['kept'])
  const goBack = await rememberRow(actor)
  await node.batch(actor, epoch, ['lost'], stored)
  await goBack()
  // What turns remember is dropped by other changes too. The loss is still noticed.
  node.executor.forget(undefined)
  await expect(node.batch(actor, epoch, ['refused'])).rejects.toThrow(FencedError)
  const next = await node.executor.activate(actor)
  expect(node.published.slice(2)).toEqual(['forget', 'missed'])
  await node.batch(actor, next, ['new'])
  expect(node.published.slice(4)).toEqual([[2, 'new']])
})

it('notices a loss that took the activation too, and none when another node took over', async () => {
  const actor = newActor()
  const [one, two] = [await startNode({ shared: false }), await startNode({ shared: false })]
  await one.batch(actor, await one.executor.activate(actor), ['kept'])
  const goBack = await rememberRow(actor)
  const lost = await one.executor.activate(actor)
  await one.batch(actor, lost, ['lost'])
  await goBack()
  await expect(one.batch(actor, lost, ['refused'])).rejects.toThrow(FencedError)
  const epoch = await one.executor.activate(actor)
  expect(one.published.slice(2)).toEqual(['forget', 'missed'])
  await one.batch(actor, epoch, ['new'])
  await two.batch(actor, await two.executor.activate(actor), ['taken over'])
  await expect(one.batch(actor, epoch, ['refused'])).rejects.toThrow(FencedError)
  await one.executor.activate(actor)
  expect(one.published.slice(4)).toEqual([[2, 'new']])
})

it('publishes the notice for a batch without stored events too', async () => {
  const actor = newActor()
  const [previous, successor] = [await startNode(), await startNode()]
  await previous.batch(actor, await previous.executor.activate(actor), ['gone with the wind'], false)
  await successor.executor.activate(actor)
  // Such events have no number.
  expect(previous.published).toEqual([[0, 'gone with the wind']])
  expect(successor.published).toEqual(['forget', 'missed'])
})

it('numbers and publishes again only the stored events of a batch', async () => {
  const actor = newActor()
  const [previous, successor] = [await startNode(), await startNode()]
  await previous.batch(actor, await previous.executor.activate(actor), ['one', '~passing', 'two'])
  expect(previous.published).toEqual([
    [1, 'one'],
    [0, '~passing'],
    [2, 'two'],
  ])
  await successor.executor.activate(actor)
  expect(successor.published).toEqual(['forget', [1, 'one'], [2, 'two'], 'missed'])
  const rows = await database.rows('select seq from workspace_events where workspace_id = $1', [actor.slice(3)])
  expect(rows).toHaveLength(2)
})

it('publishes the events of a batch again only to those who may see them', async () => {
  const [channel, user] = [uuidv7(Date.now()), uuidv7(Date.now())]
  for (const only of [{ channel }, { user }, { channel, user }, undefined]) {
    const actor = newActor()
    const [previous, successor] = [await startNode(), await startNode()]
    await previous.batch(actor, await previous.executor.activate(actor), ['psst'], true, only)
    await successor.executor.activate(actor)
    expect(successor.events).toEqual(previous.events)
    const { channel: toChannel, user: toUser } = successor.events[0] ?? {}
    expect({ toChannel, toUser }).toEqual({ toChannel: only?.channel, toUser: only?.user })
  }
})

it('publishes only the notice for a batch of more than a thousand events', async () => {
  const words = Array.from({ length: 1_001 }, (_, index) => `word ${index}`)
  const [previous, successor] = [await startNode(), await startNode()]
  const [long, longest] = [newActor(), newActor()]
  await previous.batch(longest, await previous.executor.activate(longest), words)
  await successor.executor.activate(longest)
  expect(successor.published).toEqual(['forget', 'missed'])
  const epoch = await previous.executor.activate(long)
  await previous.batch(long, epoch, ['before'])
  await previous.batch(long, epoch, words.slice(1))
  await successor.executor.activate(long)
  expect(successor.events).toHaveLength(1_000)
})

it('publishes nothing again when the previous owner released the actor or was idle', async () => {
  const [given, quiet] = [newActor(), newActor()]
  const [before, successor] = [await startNode(), await startNode()]
  for (const actor of [given, quiet]) await before.batch(actor, await before.executor.activate(actor), ['said'])
  await before.executor.release(given)
  expect([await markOf(given), await markOf(quiet)]).toEqual([null, 0])
  await successor.executor.activate(given)
  await waitFor(async () => (await markOf(quiet)) === null, { what: 'the note' })
  await successor.executor.activate(quiet)
  expect(successor.published).toEqual([])
})

it('clears the marks of actors that are released together, and of one that is released later', async () => {
  const node = await startNode()
  const actors = [newActor(), newActor(), newActor()]
  for (const actor of actors) await node.batch(actor, await node.executor.activate(actor), ['said'])
  const [one, two, later] = actors as [string, string, string]
  await Promise.all([node.executor.release(one), node.executor.release(two)])
  expect([await markOf(one), await markOf(two)]).toEqual([null, null])
  await node.executor.release(later)
  expect(await markOf(later)).toBe(null)
})

it('publishes the last batch of a killed node once, even if no command activates the actor', async () => {
  const actor = newActor()
  const [previous, one, two] = [await startNode(), await startNode(), await startNode()]
  await previous.batch(actor, await previous.executor.activate(actor), ['last words'])
  await one.announcements.recover()
  // The node of the batch may still publish it.
  expect(one.published).toEqual([])
  const [{ batch }] = (await database.rows('select batch from actor_fence where key = $1', [actor])) as [
    { batch: string },
  ]
  const older = (Number.parseInt(batch.slice(0, 8) + batch.slice(9, 13), 16) - 4_000).toString(16).padStart(12, '0')
  await database.run('update actor_fence set batch = $2 where key = $1', [
    actor,
    `${older.slice(0, 8)}-${older.slice(8)}${batch.slice(13)}`,
  ])
  await one.announcements.recover()
  await two.announcements.recover()
  expect([...one.published, ...two.published]).toEqual(['forget', [1, 'last words'], 'missed'])
  expect(await markOf(actor)).toBe(null)
})

it('a single node does not publish a confirmed batch again, and keeps the marks of its actors', async () => {
  const actor = newActor()
  const node = await startNode({ shared: false })
  await node.batch(actor, await node.executor.activate(actor), ['said'])
  await node.executor.release(actor)
  await node.announcements.close()
  expect(await markOf(actor)).toBe(0)
  await node.executor.activate(actor)
  expect(node.published).toEqual([[1, 'said']])
})

it('publishes a batch whose commit succeeded but was not confirmed, even on a single node', async () => {
  const actor = newActor()
  proxy = await cutProxy(made.url)
  const node = await startNode({ shared: false, url: proxy.url })
  const epoch = await node.executor.activate(actor)
  proxy.holdCommitAfter('word.said')
  const outcome = node.batch(actor, epoch, ['who knows'])
  await waitFor(async () => (await markOf(actor)) === 0, { what: 'the commit' })
  // Another node owns the actor before this one can look up the outcome.
  await database.run('update actor_fence set epoch = epoch + 1 where key = $1', [actor])
  proxy.away(true)
  proxy.away(false)
  await expect(outcome).rejects.toThrow('a commit was not answered')
  await expect(node.batch(actor, epoch, ['later'])).rejects.toThrow(FencedError)
  expect(node.published).toEqual([])
  await node.executor.activate(actor)
  expect(node.published).toEqual(['forget', [1, 'who knows'], 'missed'])
})

it('warns when it cannot record what it has announced, unless the database is away', async () => {
  const lines: string[] = []
  const warnings = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
  for (const error of [DatabaseUnavailable(), new Error('no such table')]) {
    const announcements = new Announcements({
      database: { rows: () => Promise.reject(error) } as unknown as Database,
      clock: systemClock,
      log: warnings,
      shared: true,
      publish: () => undefined,
      missed: () => undefined,
    })
    announcements.announced(newActor(), uuidv7(Date.now()))
    await announcements.close()
  }
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('no such table')
})

it('tries three times to clear a mark, and keeps the mark of a batch that followed meanwhile', async () => {
  const asked: unknown[] = []
  const answer = Promise.withResolvers<{ key: string }[]>()
  const announcements = new Announcements({
    database: {
      rows: (_: string, [, batches]: [string[], string[]]) => {
        asked.push(...batches)
        return batches[0] === 'first' ? answer.promise : []
      },
    } as unknown as Database,
    clock: systemClock,
    log,
    shared: true,
    publish: () => undefined,
    missed: () => undefined,
  })
  announcements.announced('a', 'first')
  const clearing = announcements.close()
  await waitFor(() => asked.length === 1, { what: 'the statement' })
  announcements.announced('a', 'second')
  answer.resolve([{ key: 'a' }])
  await clearing
  for (let times = 0; times < 5; times += 1) await announcements.close()
  expect(asked).toEqual(['first', 'second', 'second', 'second'])
})

describe('without a database', () => {
  afterEach(() => void vi.useRealTimers())

  /** Announcements of a shared node. The test answers its statements. */
  function start(answer: (actors: string[]) => Promise<string[]> = async (actors) => actors) {
    const cleared: string[][] = []
    const clock = new ManualClock()
    const rows = async (_: string, [actors]: [string[]]) => {
      cleared.push(actors)
      return (await answer(actors)).map((key) => ({ key }))
    }
    const announcements = new Announcements({
      database: { rows } as unknown as Database,
      clock,
      log,
      shared: true,
      publish: () => undefined,
      missed: () => undefined,
    })
    return { announcements, cleared, clock }
  }

  it('clears the marks of actors that were idle for a second', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { announcements, cleared, clock } = start()
    const second = () => vi.advanceTimersByTimeAsync(1_000)
    announcements.announced('a', '1')
    clock.advance(999)
    announcements.announced('b', '2')
    await second()
    expect(cleared).toEqual([])
    clock.advance(1)
    await second()
    expect(cleared).toEqual([['a']])
    clock.advance(999)
    await second()
    await second()
    expect(cleared).toEqual([['a'], ['b']])
    announcements.announced('c', '3')
    await announcements.close()
    expect(cleared.slice(2)).toEqual([['c']])
    announcements.announced('d', '4')
    clock.advance(5_000)
    await second()
    expect(cleared).toHaveLength(3)
  })

  it('clears the marks of actors that are released at the same moment with one statement', async () => {
    const { announcements, cleared } = start()
    for (const actor of ['a', 'b', 'c']) announcements.announced(actor, actor)
    await Promise.all(['a', 'unknown', 'b'].map((actor) => announcements.release(actor)))
    expect(cleared).toEqual([['a', 'b']])
    await announcements.release('c')
    expect(cleared).toEqual([['a', 'b'], ['c']])
    await announcements.close()
  })

  it('closes after the statement of a release', async () => {
    const answer = Promise.withResolvers<string[]>()
    const { announcements, cleared } = start((actors) => (actors[0] === 'a' ? answer.promise : Promise.resolve(actors)))
    announcements.announced('a', '1')
    const order: string[] = []
    const released = announcements.release('a').then(() => order.push('released'))
    const closed = announcements.close().then(() => order.push('closed'))
    await waitFor(() => cleared.length === 1, { what: 'the statement' })
    answer.resolve(['a'])
    await Promise.all([released, closed])
    expect([order, cleared]).toEqual([['released', 'closed'], [['a']]])
  })

  it('leaves the recovery to the node that has the lock, and says nothing if there is nothing to recover', async () => {
    const lines: string[] = []
    const statements: string[] = []
    const state = { had: false }
    const tx = {
      row: async () => ({ had: state.had }),
      rows: async (text: string) => {
        statements.push(text)
        return []
      },
      run: async (text: string) => statements.push(text),
    }
    const announcements = new Announcements({
      database: { transaction: (work: (one: typeof tx) => unknown) => work(tx) } as unknown as Database,
      clock: systemClock,
      log: createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } }),
      shared: true,
      publish: () => undefined,
      missed: () => undefined,
    })
    await announcements.recover()
    expect(statements).toEqual([])
    state.had = true
    await announcements.recover()
    expect([statements.length, lines]).toEqual([1, []])
    await announcements.close()
  })
})
