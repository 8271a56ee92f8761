import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LocalActors, RefusedError } from '../../actors/index.ts'
import { cutProxy, type CutProxy } from '../../test/support/cut-proxy.ts'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { waitFor } from '../../test/support/wait.ts'
import { systemClock } from '../core/clock.ts'
import { contextFactory, type RequestData } from '../core/context.ts'
import { Conflict } from '../core/errors.ts'
import { event, type WorkspaceEvent } from '../core/event.ts'
import { uuidv7 } from '../tools/id.ts'
import { job } from '../core/job.ts'
import { createLog } from '../core/log.ts'
import { from, operation, walk } from '../core/operation.ts'
import { created, done } from '../core/reply.ts'
import { Done, Envelope, Id, Input, Type } from '../core/schema.ts'
import { SealedBox } from '../tools/sealed-box.ts'
import type { Services } from '../core/services.ts'
import { systemTurn } from '../core/system-turn.ts'
import type { Turn } from '../core/turn.ts'
import { Database } from '../db/database.ts'
import { RowShapes } from '../db/row-shape.ts'
import { isUniqueViolation } from '../db/prepared-sql.ts'
import { IdempotencyKeys } from '../http/idempotency.ts'
import { actorOf } from './actor-name.ts'
import { Announcements } from './announcements.ts'
import { TurnExecutor } from './turn-executor.ts'
import { Turns } from './turn-runner.ts'

const noted = event({
  name: 'note.written',
  summary: 'A note was written',
  scope: 'team:read',
  data: Type.Object({ text: Type.String() }),
  example: { text: 'x' },
})

const notes = new RowShapes('notes', (column) => column)

/** How a turn of these tests behaves in addition to writing its note. */
type Way =
  | 'well'
  | 'write-then-fail'
  | 'write-then-get-refused'
  | 'read-then-fail'
  | 'insert-read-then-fail'
  | 'fail-after-commit'
  | 'notify-slowly'
  | 'refuse'
  | 'bad-row'
  | 'insert'
  | 'read'
  | 'read-all'
  | 'go-on-after-failure'
  | 'fail-in-read'
  | 'settle'
  | 'settle-then-refuse'
  | 'add-job'
  | 'count'
  | 'who'
  | 'in-parts'
  | 'try'

const makeIndex = job({
  name: 'notes.index',
  summary: 'x',
  queue: 'default',
  data: Type.Object({ text: Type.String() }),
  run: async () => undefined,
})

/** How many turns the actor has in memory. */
const COUNT = { name: 'count', make: () => ({ turns: 0 }) }

const gates = new Map<string, Promise<void>>()
const runs: string[] = []

const write = systemTurn<{ text: string; way?: Way }, string>({
  name: 'write',
  run: async ({ turn, input: { text, way = 'well' } }) => {
    runs.push(text)
    await gates.get(text)
    turn.afterCommit(() => void runs.push(`after ${text}`))
    // Writing an event would fail after the failed statement and reveal it.
    if (way !== 'go-on-after-failure') turn.emit(noted, { text })
    if (way === 'settle' || way === 'settle-then-refuse') turn.settled(() => void runs.push(`settled ${text}`))
    if (way === 'refuse' || way === 'settle-then-refuse') throw Conflict()
    if (way === 'fail-in-read') await turn.sql.row('select 1 / $1::int', [0])
    if (way === 'in-parts') return inParts(turn, text)
    if (way === 'try') return turn.attempt(() => noteAll(turn, text), { undo: true })
    if (way === 'who') return turn.caller?.userId ?? 'nobody'
    if (way === 'count') {
      const count = turn.memory(COUNT)
      turn.settled(() => void (count.turns += 1))
      return String(count.turns)
    }
    if (way === 'add-job') return turn.job(makeIndex, { text })
    if (way === 'read-then-fail') {
      await turn.sql.row('select 1 as one')
      throw Conflict()
    }
    if (way === 'insert-read-then-fail') {
      turn.insert(notes, { workspace_id: turn.workspaceId, text })
      // Inserts the row first, so that the statement sees it.
      expect(await turn.sql.row('select text from notes where text = $1', [text])).toEqual({ text })
      throw Conflict()
    }
    if (way === 'notify-slowly') {
      turn.afterCommit(async () => {
        runs.push(`notice of ${text}`)
        await gates.get(`notice of ${text}`)
      })
    }
    if (way === 'fail-after-commit') {
      turn.afterCommit(() => Promise.reject(new Error('no notice')))
      turn.afterCommit(() => void runs.push(`last after ${text}`))
    }
    if (way === 'bad-row') turn.insert(notes, { workspace_id: turn.workspaceId, text: null })
    else if (way === 'insert') turn.insert(notes, { workspace_id: turn.workspaceId, text })
    else if (way === 'read') await turn.sql.row('select 1 as one')
    else if (way === 'read-all') {
      const all = 'select text from notes where workspace_id = $1 order by n'
      return (await turn.sql.rows<{ text: string }>(all, [turn.workspaceId])).map((row) => row.text).join(', ')
    } else await turn.sql.run('insert into notes (workspace_id, text) values ($1, $2)', [turn.workspaceId, text])
    if (way === 'write-then-fail') throw Conflict()
    // As if it had called a turn of another actor that is busy.
    if (way === 'write-then-get-refused') throw new RefusedError('overloaded')
    if (way === 'go-on-after-failure') await turn.sql.row('select 1 / $1::int', [0]).catch(() => undefined)
    return text
  },
})

/** Does everything that a part can do. @returns what the turn sees then */
async function noteAll(turn: Turn, text: string): Promise<string> {
  const list = turn.memory(LIST)
  turn.restorable(() => {
    const before = [...list]
    return () => void list.splice(0, list.length, ...before)
  })
  list.push(text)
  turn.emit(noted, { text })
  turn.audit({ kind: 'note', id: text })
  turn.settled(() => void runs.push(`settled ${text}`))
  turn.afterCommit(() => void runs.push(`after ${text}`))
  turn.job(makeIndex, { text })
  await turn.sql.run('insert into notes (workspace_id, text) values ($1, $2)', [turn.workspaceId, text])
  turn.insert(notes, { workspace_id: turn.workspaceId, text: `${text} waits` })
  return list.join(', ')
}

const LIST = { name: 'list', make: (): string[] => [] }

/** Parts that succeed, are refused, break a statement, and are refused inside of another one. */
async function inParts(turn: Turn, text: string): Promise<string> {
  const refused = async (part: () => Promise<unknown>) => {
    await expect(turn.attempt(part)).rejects.toThrow()
  }
  turn.insert(notes, { workspace_id: turn.workspaceId, text: `${text} before` })
  await turn.attempt(() => noteAll(turn, `${text} first`))
  await refused(async () => {
    await noteAll(turn, `${text} refused`)
    throw Conflict()
  })
  await refused(async () => {
    await noteAll(turn, `${text} broken`)
    await turn.sql.row('select 1 / $1::int', [0])
  })
  await turn.attempt(async () => {
    await noteAll(turn, `${text} outer`)
    await refused(async () => {
      await noteAll(turn, `${text} inner`)
      throw Conflict()
    })
  })
  return turn.memory(LIST).join(', ')
}

const writeNote = operation({
  route: 'POST /api/notes',
  summary: 'Write a note',
  access: 'team:read',
  workspace: from.body('workspaceId'),
  turn: true,
  body: Input({ workspaceId: Id, text: Type.String() }),
  returns: { 201: Envelope(Type.Object({ text: Type.String() })) },
  example: { body: {} },
  prelude: async (requests, { workspaceId: of }) =>
    void runs.push(`prelude in ${of}: ${requests.map(({ body }) => body.text).join()}`),
  handle: async ({ turn, body, member }) => {
    runs.push(`${body.text} as ${member.role}`)
    turn.insert(notes, { workspace_id: turn.workspaceId, text: body.text })
    turn.emit(noted, { text: body.text })
    turn.audit({ kind: 'note', id: body.text, details: { by: turn.caller?.userId } })
    return created('Written', { text: body.text })
  },
})

const touchNotes = operation({
  ...writeNote,
  route: 'POST /api/notes/touch',
  returns: { 200: Done },
  prelude: undefined as never,
  handle: async () => done('Touched'),
})

interface Runtime {
  readonly database: Database
  readonly actors: LocalActors
  readonly executor: TurnExecutor
  readonly turns: Turns
  readonly published: WorkspaceEvent[]
}

const box = new SealedBox('a secret of these tests, long enough', 'idempotent replies')
const log = createLog({ level: 'silent' })
let made: TestDatabase
let database: Database
let opened: Runtime[] = []
let workspaceId: string

async function runtime(url = made.url): Promise<Runtime> {
  const own = await Database.connect({ url, poolSize: 4, entities: [], log })
  const published: WorkspaceEvent[] = []
  const publish = (_workspaceId: string, events: readonly WorkspaceEvent[]) => void published.push(...events)
  const keys = new IdempotencyKeys(own, systemClock, box)
  const executor = new TurnExecutor({
    database: own,
    clock: systemClock,
    log,
    operations: new Map(walk({ notes: { touchNotes, writeNote } }).map((op) => [op.name, op])),
    systemTurns: new Map([[write.name, write]]),
    publish,
    announcements: new Announcements({
      database: own,
      clock: systemClock,
      log,
      shared: false,
      publish,
      missed: () => undefined,
    }),
    jobs: {
      make: (_job, data, options) => ({
        id: 'job-1',
        statement: `insert into notes (workspace_id, text)
          select * from json_to_recordset($1::json) as added (workspace_id uuid, text text)`,
        row: { workspace_id: options.workspaceId, text: `job ${(data as { text: string }).text}` },
      }),
      wake: () => void runs.push('woken'),
    },
    keepReply: (...kept) => keys.keepWithTurn(...kept),
  })
  executor.serve({} as Services, contextFactory({} as Services))
  const actors = new LocalActors({ host: executor, monotonic: () => systemClock.monotonic() })
  const result = { database: own, actors, executor, turns: new Turns(actors, systemClock), published }
  opened.push(result)
  return result
}

function gate(text: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  gates.set(text, promise)
  return resolve
}

const started = (text: string) => waitFor(() => runs.includes(text), { what: `the turn ${text}` })

/** Runs turns in one batch. They wait while a first turn keeps the actor busy. */
async function together(
  on: Runtime,
  inputs: readonly { text: string; way?: Way }[],
): Promise<PromiseSettledResult<string>[]> {
  const first = `first of ${inputs[0]?.text}`
  const open = gate(first)
  const held = on.turns.system(workspaceId, write, { text: first })
  await started(first)
  const rest = inputs.map((input) => on.turns.system(workspaceId, write, input))
  open()
  await held
  return Promise.allSettled(rest)
}

async function texts(): Promise<string[]> {
  const rows = await database.rows<{ text: string }>('select text from notes where workspace_id = $1 order by n', [
    workspaceId,
  ])
  return rows.map((row) => row.text)
}

async function events(): Promise<{ seq: number; text: string }[]> {
  return database.rows(
    `select seq, data ->> 'text' as text from workspace_events where workspace_id = $1 order by seq`,
    [workspaceId],
  )
}

async function seq(): Promise<number> {
  const row = await database.row<{ seq: number }>('select seq from actor_fence where key = $1', [`ws:${workspaceId}`])
  return row?.seq ?? -1
}

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 3, entities: [], log })
  await database.run(
    'create table notes (n bigint generated always as identity, workspace_id uuid not null, text text not null, unique (workspace_id, text))',
  )
})
afterEach(async () => {
  for (const one of opened) {
    await one.actors.close(5_000)
    await one.database.close()
  }
  opened = []
  runs.length = 0
  gates.clear()
})
afterAll(async () => {
  await database?.close()
  await made?.drop()
})

function fresh(): void {
  workspaceId = uuidv7(Date.now())
}

describe('one transaction', () => {
  it('writes rows, events and audit entry together, and publishes events only after the commit', async () => {
    fresh()
    const one = await runtime()
    const open = gate('slow')
    const done = one.turns.system(workspaceId, write, { text: 'slow' })
    await started('slow')
    expect([await texts(), await events(), one.published]).toEqual([[], [], []])
    open()
    await done
    expect(await texts()).toEqual(['slow'])
    expect(await events()).toEqual([{ seq: 1, text: 'slow' }])
    expect(one.published).toMatchObject([{ workspaceId, seq: 1, type: 'note.written', data: { text: 'slow' } }])
    expect(runs).toEqual(['slow', 'after slow'])
  })

  it.each<[string, Way]>([
    ['written', 'write-then-fail'],
    ['inserted a row and read it', 'insert-read-then-fail'],
  ])('leaves nothing behind when a turn fails after it has %s', async (_what, way) => {
    fresh()
    const one = await runtime()
    await expect(one.turns.system(workspaceId, write, { text: 'bad', way })).rejects.toMatchObject({
      code: 'conflict',
    })
    expect([await texts(), await events(), one.published, await seq()]).toEqual([[], [], [], 0])
    expect(runs).toEqual(['bad'])
  })

  it('undoes a part that fails, and keeps the others', async () => {
    fresh()
    const one = await runtime()
    const kept = ['a first', 'a outer']
    await expect(one.turns.system(workspaceId, write, { text: 'a', way: 'in-parts' })).resolves.toBe(kept.join(', '))
    const stored = await texts()
    expect(stored.toSorted()).toEqual(
      ['a before', ...kept.flatMap((text) => [text, `${text} waits`, `job ${text}`])].toSorted(),
    )
    expect(await events()).toEqual(['a', ...kept].map((text, index) => ({ seq: index + 1, text })))
    expect(runs.filter((run) => run.startsWith('settled'))).toEqual(kept.map((text) => `settled ${text}`))
    expect(runs.filter((run) => run.startsWith('after'))).toEqual(['after a', ...kept.map((text) => `after ${text}`)])
  })

  it('tells what a part would do, and does nothing', async () => {
    fresh()
    const one = await runtime()
    await expect(one.turns.system(workspaceId, write, { text: 'a', way: 'try' })).resolves.toBe('a')
    expect([await texts(), await events()]).toEqual([[], [{ seq: 1, text: 'a' }]])
  })

  it('succeeds although an action after its commit fails, and runs the other actions', async () => {
    fresh()
    const { turns } = await runtime()
    await expect(turns.system(workspaceId, write, { text: 'a', way: 'fail-after-commit' })).resolves.toBe('a')
    expect(runs).toEqual(['a', 'after a', 'last after a'])
    expect(await texts()).toEqual(['a'])
  })

  it('replies after the actions that follow its commit', async () => {
    fresh()
    const { turns } = await runtime()
    const open = gate('notice of a')
    let isReplied = false
    const reply = turns.system(workspaceId, write, { text: 'a', way: 'notify-slowly' }).then(() => (isReplied = true))
    await started('notice of a')
    expect(await texts()).toEqual(['a'])
    expect(isReplied).toBe(false)
    open()
    expect(await reply).toBe(true)
  })

  it('fails for an operation or a system turn that this version does not have', async () => {
    fresh()
    const { turns } = await runtime()
    const later = systemTurn<null, null>({ name: 'of a later version', run: async () => null })
    await expect(turns.system(workspaceId, later, null)).rejects.toThrow('there is no system turn of a later version')
    const unknown = { ...payload('x'), operation: 'notes.later' }
    await expect(turns.operation(unknown)).rejects.toThrow('there is no operation notes.later')
  })

  it('writes the audit entry with the operation, and gives every event its own number', async () => {
    fresh()
    const one = await runtime()
    await one.turns.operation(payload('hello'))
    const [entry] = await database.rows('select * from audit_log where workspace_id = $1', [workspaceId])
    expect(entry).toMatchObject({
      actor_id: CALLER.userId,
      actor_via: 'token',
      action: 'writeNote',
      target_kind: 'note',
      target_id: 'hello',
      details: { by: CALLER.userId },
      remote_address: '192.0.2.7',
      user_agent: 'a test',
      request_id: 'req-1',
    })
    expect(await seq()).toBe(1)
  })

  it('names the API key in the audit entry, and no target if the operation names none', async () => {
    fresh()
    const { turns } = await runtime()
    const key = uuidv7(Date.now())
    const touch = { ...payload('x'), operation: 'touchNotes' }
    const apiKey = { id: key, scopes: null, workspaceIds: null }
    await turns.operation({
      ...touch,
      context: { ...touch.context, caller: { ...CALLER, via: 'api_key' as const, apiKey } },
    })
    const entries = await database.rows('select * from audit_log where workspace_id = $1', [workspaceId])
    const nothing = { target_kind: null, target_id: null, details: null }
    expect(entries).toMatchObject([{ action: 'touchNotes', actor_via: 'api_key', api_key_id: key, ...nothing }])
  })

  it('writes an entry for a turn that is not audited only if the turn names a target', async () => {
    fresh()
    const { turns } = await runtime()
    await turns.operation({ ...payload('x'), operation: 'touchNotes', audited: false })
    await turns.operation({ ...payload('moderated'), audited: false })
    const entries = await database.rows('select target_id from audit_log where workspace_id = $1', [workspaceId])
    expect(entries).toEqual([{ target_id: 'moderated' }])
  })

  it('adds jobs with its rows, and wakes their dispatcher once after the commit', async () => {
    fresh()
    const { turns } = await runtime()
    expect(await turns.system(workspaceId, write, { text: 'a', way: 'add-job' })).toBe('job-1')
    expect(await texts()).toEqual(['job a'])
    expect(runs).toEqual(['a', 'after a', 'woken'])
  })

  it('shows a turn its caller, which is nobody for a system turn', async () => {
    fresh()
    const { turns } = await runtime()
    expect(await turns.system(workspaceId, write, { text: 'a', way: 'who' })).toBe('nobody')
  })

  it('keeps the error of a statement that only reads', async () => {
    fresh()
    const { turns } = await runtime()
    const failed = turns.system(workspaceId, write, { text: 'a', way: 'fail-in-read' })
    await expect(failed).rejects.toThrow('division by zero')
  })
})

describe('the memory of an actor', () => {
  const count = async ({ turns }: Runtime) => turns.system(workspaceId, write, { text: 'one more', way: 'count' })

  it('lasts until the actor or all actors are told to forget', async () => {
    fresh()
    const one = await runtime()
    expect([await count(one), await count(one)]).toEqual(['0', '1'])
    one.executor.forget(uuidv7(Date.now()))
    expect(await count(one)).toBe('2')
    one.executor.forget(workspaceId)
    expect([await count(one), await count(one)]).toEqual(['0', '1'])
    one.executor.forget(undefined)
    expect(await count(one)).toBe('0')
  })

  it('is lost when the node drops the actor', async () => {
    fresh()
    const one = await runtime()
    expect([await count(one), await count(one)]).toEqual(['0', '1'])
    one.executor.dropped('ws:another')
    expect(await count(one)).toBe('2')
    one.executor.dropped(actorOf(workspaceId))
    expect(await count(one)).toBe('0')
  })

  it('is lost with a batch that is rolled back', async () => {
    fresh()
    const one = await runtime()
    expect([await count(one), await count(one)]).toEqual(['0', '1'])
    await one.turns.system(workspaceId, write, { text: 'bad', way: 'write-then-fail' }).catch(() => undefined)
    expect(await count(one)).toBe('0')
  })
})

describe('a batch', () => {
  it('runs the preludes of its operations before the first turn, once for each operation', async () => {
    fresh()
    const { turns } = await runtime()
    const open = gate('held')
    const held = turns.system(workspaceId, write, { text: 'held' })
    await started('held')
    const both = [turns.operation(payload('x')), turns.operation(payload('y'))]
    open()
    await Promise.all([held, ...both])
    const prelude = `prelude in ${workspaceId}: x,y`
    expect(runs).toEqual(['held', 'after held', prelude, 'x as owner', 'y as owner'])
  })

  it('settles each turn that succeeds before the next one runs', async () => {
    fresh()
    const one = await runtime()
    await together(one, [
      { text: 'a', way: 'settle' },
      { text: 'b', way: 'settle-then-refuse' },
      { text: 'c', way: 'settle' },
    ])
    expect(runs.slice(2)).toEqual(['a', 'settled a', 'b', 'c', 'settled c', 'after a', 'after c'])
  })

  it.each<[string, Way]>([
    ['a read-only statement of one turn fails', 'fail-in-read'],
    ['another actor refuses a command of one turn', 'write-then-get-refused'],
  ])('is repeated turn by turn when %s', async (_what, way) => {
    fresh()
    const one = await runtime()
    const results = await together(one, [{ text: 'a' }, { text: 'b', way }, { text: 'c' }])
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await texts()).toEqual(['first of a', 'a', 'c'])
  })

  it('is repeated turn by turn when one turn fails after its statements, and the others commit', async () => {
    fresh()
    const one = await runtime()
    const results = await together(one, [
      { text: 'a' },
      { text: 'b', way: 'write-then-fail' },
      { text: 'c' },
      { text: 'd' },
    ])
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(await texts()).toEqual(['first of a', 'a', 'c', 'd'])
    expect((await events()).map((row) => row.seq)).toEqual([1, 2, 3, 4])
    expect(one.published.map((row) => row.seq)).toEqual([1, 2, 3, 4])
    expect(runs.filter((run) => run === 'after a')).toHaveLength(1)
  })

  it.each(['refuse', 'read-then-fail'] as const)(
    'is not repeated when a turn fails before it writes: %s',
    async (way) => {
      fresh()
      const one = await runtime()
      const results = await together(one, [{ text: 'a' }, { text: 'b', way }, { text: 'c' }])
      expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect((await events()).map((row) => row.text)).toEqual(['first of a', 'a', 'c'])
      expect((await events()).map((row) => row.seq)).toEqual([1, 2, 3])
      expect(runs.filter((run) => run === 'a')).toHaveLength(1)
    },
  )

  it('shows a turn the deferred inserts of the turns before it', async () => {
    fresh()
    const one = await runtime()
    const results = await together(one, [
      { text: 'a', way: 'insert' },
      { text: 'b', way: 'insert' },
      { text: 'c', way: 'read-all' },
    ])
    expect(results.at(-1)).toEqual({ status: 'fulfilled', value: 'first of a, a, b' })
  })

  it('attributes a failed deferred insert to its own turn, not to the next one that reads', async () => {
    fresh()
    const one = await runtime()
    const results = await together(one, [{ text: 'a', way: 'bad-row' }, { text: 'b', way: 'read' }, { text: 'c' }])
    expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(await texts()).toEqual(['first of a', 'c'])
    expect((await events()).map((row) => row.text)).toEqual(['first of a', 'b', 'c'])
  })

  it('inserts many rows in the order of its turns', async () => {
    fresh()
    const one = await runtime()
    const inputs = Array.from({ length: 40 }, (_, index) => ({ text: `n${index}`, way: 'insert' as const }))
    const results = await together(one, inputs)
    expect(results.map(({ status }) => status)).toEqual(inputs.map(() => 'fulfilled'))
    const written = ['first of n0', ...inputs.map(({ text }) => text)]
    expect(await texts()).toEqual(written)
    expect((await events()).map((row) => row.text)).toEqual(written)
    expect(one.actors.stats().batches).toBe(2)
  })

  it('attributes a bad row to its own turn when it was sent before the end of the batch', async () => {
    fresh()
    const one = await runtime()
    const inputs = Array.from({ length: 30 }, (_, index) => ({
      text: `n${index}`,
      way: index === 3 ? ('bad-row' as const) : ('insert' as const),
    }))
    const results = await together(one, inputs)
    expect(results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([3])
    const written = ['first of n0', ...inputs.filter(({ way }) => way === 'insert').map(({ text }) => text)]
    expect(await texts()).toEqual(written)
  })

  it('does not report success for a turn that PostgreSQL has rolled back', async () => {
    fresh()
    const one = await runtime()
    const results = await together(one, [{ text: 'a', way: 'go-on-after-failure' }, { text: 'b' }])
    expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled'])
    expect(await texts()).toEqual(['first of a', 'b'])
  })
})

describe('two runtimes on one database', () => {
  it('take the actor from each other, commit every turn once and number events without gaps', async () => {
    fresh()
    const [one, two] = [await runtime(), await runtime()]
    const wanted = Array.from({ length: 60 }, (_, index) => `n${index}`)
    // In rounds, so that each runtime loses the actor in between.
    for (let round = 0; round < 6; round += 1) {
      const some = wanted.slice(round * 10, round * 10 + 10)
      await Promise.all(some.map((text, index) => (index % 2 ? one : two).turns.system(workspaceId, write, { text })))
    }
    expect((await texts()).toSorted()).toEqual(wanted.toSorted())
    expect((await events()).map((row) => row.seq)).toEqual(wanted.map((_, index) => index + 1))
    expect(one.actors.stats().fenced + two.actors.stats().fenced).toBeGreaterThan(0)
  })

  it('refuse the commit of a replaced owner, which then takes the actor back', async () => {
    fresh()
    const [one, two] = [await runtime(), await runtime()]
    await one.turns.system(workspaceId, write, { text: 'a' })
    await two.turns.system(workspaceId, write, { text: 'b' })
    await one.turns.system(workspaceId, write, { text: 'c' })
    expect(one.actors.stats()).toMatchObject({ fenced: 1, activations: 2 })
    const row = await database.row<{ epoch: number }>('select epoch from actor_fence where key = $1', [
      `ws:${workspaceId}`,
    ])
    expect(row?.epoch).toBe(3)
    expect(await texts()).toEqual(['a', 'b', 'c'])
  })

  it('refuse the commit of a replaced owner, also when the new owner has written nothing', async () => {
    fresh()
    const [one, two] = [await runtime(), await runtime()]
    await one.turns.system(workspaceId, write, { text: 'a' })
    const refused = two.turns.system(workspaceId, write, { text: 'b', way: 'refuse' })
    await expect(refused).rejects.toMatchObject({ code: 'conflict' })
    // The newest event is unchanged, so only the epoch shows that the actor has a new owner.
    expect(await seq()).toBe(1)
    await one.turns.system(workspaceId, write, { text: 'c' })
    expect(one.actors.stats()).toMatchObject({ fenced: 1, activations: 2 })
    expect(await texts()).toEqual(['a', 'c'])
  })

  it('repeat the batch of an owner that was replaced without knowing it, and reply as usual', async () => {
    fresh()
    const [one, two] = [await runtime(), await runtime()]
    await one.turns.system(workspaceId, write, { text: 'a' })
    await two.turns.system(workspaceId, write, { text: 'b' })
    const inputs = [{ text: 'c' }, { text: 'd', way: 'read' }, { text: 'e', way: 'refuse' }] as const
    const results = await Promise.allSettled(inputs.map((input) => one.turns.system(workspaceId, write, input)))
    expect(results).toMatchObject([{ value: 'c' }, { value: 'd' }, { reason: { code: 'conflict' } }])
    expect(one.actors.stats()).toMatchObject({ fenced: 1, activations: 2, batches: 2 })
    expect(await texts()).toEqual(['a', 'b', 'c'])
    expect((await events()).map((row) => row.text)).toEqual(['a', 'b', 'c', 'd'])
    expect(one.published.map((row) => row.seq)).toEqual([1, 3, 4])
    expect(runs.filter((run) => run === 'after c')).toHaveLength(1)
  })
})

describe('idempotency', () => {
  it('repeats the reply and has one effect when the process is killed between commit and reply', async () => {
    fresh()
    const keys = new IdempotencyKeys(database, systemClock, box)
    const claim = { principal: CALLER.userId, key: 'once', fingerprint: 'print', keepMs: 60_000 }
    const dead = await runtime()
    // The first reply is lost. Only the committed rows are left.
    await dead.turns.operation({ ...payload('mine'), idempotency: claim })
    const next = await runtime()
    const again = next.turns.operation({ ...payload('mine again'), idempotency: claim })
    const error: unknown = await again.catch((reason: unknown) => reason)
    expect(isUniqueViolation(error, 'idempotency_keys_pkey')).toBe(true)
    expect(await keys.afterConflict('writeNote', claim, error)).toEqual({
      status: 201,
      body: { status: true, message: 'Written', data: { text: 'mine' } },
    })
    expect(await texts()).toEqual(['mine'])
    expect(await seq()).toBe(1)
  })
})

describe('an unavailable database', () => {
  let proxy: CutProxy
  let one: Runtime

  async function behindProxy(): Promise<void> {
    fresh()
    proxy = await cutProxy(made.url)
    one = await runtime(proxy.url)
    await one.turns.system(workspaceId, write, { text: 'warm' })
  }
  afterEach(() => proxy?.close())

  it('reports success, with one effect, when the confirmation of a commit was lost', async () => {
    await behindProxy()
    proxy.cutAt('commit', 'after')
    await expect(one.turns.system(workspaceId, write, { text: 'a' })).resolves.toBe('a')
    expect(await texts()).toEqual(['warm', 'a'])
    expect(runs.filter((run) => run === 'a')).toHaveLength(1)
    expect(one.published.map((row) => row.seq)).toEqual([1, 2])
  })

  it('looks up the outcome of a commit until the database is back', async () => {
    await behindProxy()
    proxy.holdCommitAfter('kept')
    const answer = one.turns.system(workspaceId, write, { text: 'kept' })
    await waitFor(async () => (await texts()).includes('kept'), { what: 'the commit' })
    proxy.away(true)
    await waitFor(() => proxy.refused > 0, { what: 'a question that fails' })
    proxy.away(false)
    await expect(answer).resolves.toBe('kept')
    expect(runs.filter((run) => run === 'kept')).toHaveLength(1)
  })

  it('is found by a probe of the connection', async () => {
    await behindProxy()
    await expect(one.executor.probe()).resolves.toBeUndefined()
    proxy.away(true)
    await expect(one.executor.probe()).rejects.toThrow()
    proxy.away(false)
  })

  it('reports that nothing was changed when the commit did not arrive', async () => {
    await behindProxy()
    proxy.cutAt('commit', 'before')
    await expect(one.turns.system(workspaceId, write, { text: 'a' })).rejects.toMatchObject({
      code: 'database_unavailable',
    })
    expect(await texts()).toEqual(['warm'])
    await expect(one.turns.system(workspaceId, write, { text: 'b' })).resolves.toBe('b')
  })

  it('fails a whole batch at once when the connection breaks, and works again when the database does', async () => {
    await behindProxy()
    const open = gate('held')
    const held = one.turns.system(workspaceId, write, { text: 'held' })
    await started('held')
    const rest = Array.from({ length: 30 }, (_, index) => one.turns.system(workspaceId, write, { text: `w${index}` }))
    proxy.away(true)
    open()
    const results = await Promise.allSettled([held, ...rest])
    for (const result of results) expect(result).toMatchObject({ reason: { code: 'database_unavailable' } })
    expect(runs.filter((run) => run.startsWith('w') && run !== 'warm').length).toBeLessThanOrEqual(30)
    proxy.away(false)
    await expect(one.turns.system(workspaceId, write, { text: 'back' })).resolves.toBe('back')
    expect(await texts()).toEqual(['warm', 'back'])
  })
})

const CALLER = {
  userId: uuidv7(Date.now()),
  email: 'ada@example.com',
  isAdmin: false,
  emailVerified: true,
  via: 'token' as const,
}

function payload(text: string) {
  const context: RequestData = {
    path: {},
    query: {},
    body: { workspaceId, text },
    caller: CALLER,
    member: {
      workspaceId,
      userId: CALLER.userId,
      role: 'owner',
      scopes: new Set(),
      joinedAt: '2026-01-01T00:00:00.000Z',
    },
    workspaceId,
    requestId: 'req-1',
    remoteAddress: '192.0.2.7',
    userAgent: 'a test',
    ifMatch: undefined,
  }
  return { kind: 'operation' as const, operation: 'writeNote', audited: true, context }
}
