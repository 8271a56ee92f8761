import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { systemClock } from '../core/clock.ts'
import { contextFactory } from '../core/context.ts'
import { event } from '../core/event.ts'
import { uuidv7 } from '../tools/id.ts'
import { createLog } from '../core/log.ts'
import { Type } from '../core/schema.ts'
import { SealedStream } from '../tools/sealed-stream.ts'
import type { Services } from '../core/services.ts'
import { systemTurn } from '../core/system-turn.ts'
import { Database } from '../db/database.ts'
import { RowShapes } from '../db/row-shape.ts'
import { Announcements } from './announcements.ts'
import { TurnExecutor } from './turn-executor.ts'
import { TurnOutcomes } from './turn-outcomes.ts'

const SECRET = 'a secret of these tests, long enough'
const log = createLog({ level: 'silent' })
const told = event({ name: 'tests.told', summary: 'A test', scope: 'streams:read', data: Type.Object({}), example: {} })
const write = systemTurn<{ text: string }, { text: string; at: Date }>({
  name: 'write',
  run: async ({ turn, input: { text } }) => {
    turn.insert(new RowShapes('notes', (column) => column), { text })
    if (text === 'with an event') turn.emit(told, {})
    return { text: `told ${text}`, at: new Date(0) }
  },
})

let made: TestDatabase
let database: Database
let memory: TurnOutcomes
let executor: TurnExecutor

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 3, entities: [], log })
  await database.run('create table notes (text text not null)')
  memory = new TurnOutcomes(database, systemClock, new SealedStream(SECRET, 'outcomes of turns'))
  executor = new TurnExecutor({
    database,
    clock: systemClock,
    log,
    operations: new Map(),
    systemTurns: new Map([[write.name, write]]),
    publish: () => undefined,
    announcements: new Announcements({
      database,
      clock: systemClock,
      log,
      shared: false,
      publish: () => undefined,
      missed: () => undefined,
    }),
    keepReply: () => undefined,
    outcomes: memory,
    jobs: { make: () => ({ id: '', statement: '', row: {} }), wake: () => undefined },
  })
  executor.serve({} as Services, contextFactory({} as Services))
})
afterAll(async () => {
  await database.close()
  await made.drop()
})

function command(actor: string, text: string, repeated = false) {
  const payload = { kind: 'system', name: 'write', input: { text } }
  return { actor, operationId: uuidv7(Date.now()), caller: 'system', deadline: Infinity, payload, repeated }
}

const actorName = () => `ws:${uuidv7(Date.now())}`
const notes = async (text: string) => (await database.rows('select 1 from notes where text = $1', [text])).length

it('returns the first outcome of a repeated command that emitted an event', async () => {
  const actor = actorName()
  const loud = command(actor, 'with an event')
  const [first] = await executor.execute(actor, await executor.activate(actor), [loud])
  const [again] = await executor.execute(actor, await executor.activate(actor), [{ ...loud, repeated: true }])
  expect(again).toEqual(first)
  expect(await notes('with an event')).toBe(1)
})

it('returns the first outcome of a repeated command, under a later epoch and in a batch with new commands', async () => {
  const actor = actorName()
  const first = await executor.activate(actor)
  const [one, two, three] = [command(actor, 'one'), command(actor, 'two'), command(actor, 'three')]
  const [, told] = await executor.execute(actor, first, [one, two])
  const second = await executor.activate(actor)
  const outcomes = await executor.execute(actor, second, [three, { ...two, repeated: true }])
  expect(outcomes[1]).toEqual(told)
  expect(outcomes[1]).toEqual({ ok: true, value: { text: 'told two', at: new Date(0) } })
  expect(await Promise.all(['one', 'two', 'three'].map(notes))).toEqual([1, 1, 1])
})

it('returns the outcomes of repeated commands of a large batch', async () => {
  const actor = actorName()
  const commands = Array.from({ length: 64 }, (_, index) => command(actor, `${index} ${'long'.repeat(30)}`))
  const told = await executor.execute(actor, await executor.activate(actor), commands)
  const again = commands.slice(40).map((one) => ({ ...one, repeated: true }))
  expect(await executor.execute(actor, await executor.activate(actor), again)).toEqual(told.slice(40))
})

it('keeps nothing of a batch in which no turn succeeded', async () => {
  const actor = actorName()
  const failing = { ...command(actor, 'x'), payload: { kind: 'system', name: 'missing', input: {} } }
  const outcomes = await executor.execute(actor, await executor.activate(actor), [failing])
  expect(outcomes).toMatchObject([{ ok: false }])
  expect(await database.rows('select 1 from turn_outcomes where actor = $1', [actor])).toEqual([])
})

it('runs a repeated command that had no effect before', async () => {
  const actor = actorName()
  const outcomes = await executor.execute(actor, await executor.activate(actor), [command(actor, 'late', true)])
  expect(outcomes).toMatchObject([{ ok: true, value: { text: 'told late' } }])
  expect(await notes('late')).toBe(1)
})

it('refuses a repeated command that is so old that its outcome may be deleted', async () => {
  const actor = actorName()
  const old = {
    ...command(actor, 'old', true),
    operationId: `${(Date.now() - 61_000).toString(16).padStart(12, '0').replace(/^.{8}/, '$&-')}-7000-8000-000000000000`,
  }
  const outcomes = await executor.execute(actor, await executor.activate(actor), [old])
  expect(outcomes).toMatchObject([{ ok: false, error: { code: 'outcome_unknown' } }])
  expect(await notes('old')).toBe(0)
})

it('keeps outcomes for two minutes, encrypted', async () => {
  const actor = actorName()
  await executor.execute(actor, await executor.activate(actor), [command(actor, 'secret')])
  const row = await database.row<{ outcomes: Buffer }>('select outcomes from turn_outcomes where actor = $1', [actor])
  expect(row?.outcomes.includes('told')).toBe(false)
  await database.run("update turn_outcomes set at = at - interval '119 seconds' where actor = $1", [actor])
  expect(await memory.sweep()).toBe(0)
  await database.run("update turn_outcomes set at = at - interval '2 seconds' where actor = $1", [actor])
  expect(await memory.sweep()).toBe(1)
})
