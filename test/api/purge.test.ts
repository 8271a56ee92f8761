import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { keepRecording, recordingBegun, recordingLost } from '../../src/domains/live/recording/turns.ts'
import type { RecordingFile } from '../../src/domains/live/recording/recording-file.ts'
import type { KeptRecording } from '../../src/domains/live/recording/service.ts'
import { deleteWorkspace } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

/** Tables whose rows stay after a workspace is purged, each with its reason. */
const KEPT: Readonly<Record<string, string>> = {
  outbox: 'jobs end by themselves',
  finished_jobs: 'deleted an hour after the job',
  turn_outcomes: 'deleted after two minutes',
  mail_log: 'limits mail to an address',
  stream_usage: 'counts against the plan of the owner until the month ends',
}

/** Values that check constraints need. Any other column gets a value of its type. */
const VALUES: Readonly<Record<string, string>> = {
  'outbox state': 'waiting',
  'channels kind': 'channel',
  'channels name': 'general',
  'invitations status': 'revoked',
}

const clock = new ManualClock()
let app: App
let world: World
beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
})
afterAll(() => app?.stop())

interface Column {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly needed: boolean
  readonly key: boolean
  /** The table and column that a foreign key names. */
  readonly parent: readonly [string, string] | null
}

/** The columns of all tables, from the catalog of the database. */
function columns(): Promise<Column[]> {
  return app.database.rows<Column>(
    `select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
       a.attnotnull and not a.atthasdef and a.attgenerated = '' as needed,
       exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)) as key,
       (select json_build_array(p.relname, pa.attname)
        from pg_constraint f
        cross join unnest(f.conkey, f.confkey) as k (own, others)
        join pg_class p on p.oid = f.confrelid
        join pg_attribute pa on pa.attrelid = p.oid and pa.attnum = k.others
        where f.conrelid = c.oid and f.contype = 'f' and k.own = a.attnum
        order by f.confrelid = 'workspaces'::regclass desc limit 1) as parent
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by c.relname, a.attnum`,
  )
}

/** The tables whose rows name a workspace: in a column, as an actor, or through a foreign key. */
function tablesOfWorkspaces(all: readonly Column[]): string[] {
  const found = new Set(['actor_fence', 'turn_outcomes'])
  for (const { column, table } of all) if (column === 'workspace_id') found.add(table)
  for (let before = -1; before < found.size;) {
    before = found.size
    for (const { parent, table } of all)
      if (parent && (found.has(parent[0]) || parent[0] === 'workspaces')) found.add(table)
  }
  found.delete('workspaces')
  return [...found].toSorted()
}

let serial = 0
/** A number that makes unique values. */
const newSerial = () => clock.now() + (serial += 1)

/** Inserts one row into each table. The rows refer to each other where necessary. @returns the condition for each row */
async function fill(all: readonly Column[], tables: readonly string[], workspaceId: string, userId: string) {
  const made = new Map<string, string>([
    ['workspaces id', workspaceId],
    ['users id', userId],
    ['actor_fence key', `ws:${workspaceId}`],
    ['turn_outcomes actor', `ws:${workspaceId}`],
  ])
  const valueOf = ({ column, parent, table, type }: Column): string => {
    const name = `${table} ${column}`
    const known = made.get(name) ?? VALUES[name]
    if (known !== undefined) return known
    const named = parent && all.find((one) => one.table === parent[0] && one.column === parent[1])
    const value = named ? valueOf(named) : column === 'workspace_id' ? workspaceId : ofType(type, newSerial())
    made.set(name, value)
    return value
  }
  const found = new Map<string, string>()
  await app.database.transaction(async (tx) => {
    // Foreign keys and triggers are off, because the rows refer to each other in cycles.
    await tx.run('set local session_replication_role = replica')
    for (const table of tables) {
      const given = all.filter(
        (one) =>
          one.table === table &&
          (one.needed || one.key || one.parent || `${table} ${one.column}` in VALUES || one.column === 'workspace_id'),
      )
      const list = (part: (one: Column) => string) => given.map(part).join(', ')
      const values = list((one) => `'${valueOf(one)}'::${one.type}`)
      await tx.run(
        `insert into ${table} (${list((one) => `"${one.column}"`)}) values (${values}) on conflict do nothing`,
      )
      const key = given.filter((one) => one.key)
      found.set(table, (key.length > 0 ? key : given).map((one) => `"${one.column}" = '${valueOf(one)}'`).join(' and '))
    }
  })
  return found
}

function ofType(type: string, serial: number): string {
  if (type === 'uuid') return uuidv7(serial)
  if (type === 'date' || type.startsWith('timestamp')) return new Date(clock.now()).toISOString()
  if (type === 'jsonb' || type === 'json') return '[]'
  if (type.endsWith('[]')) return '{}'
  if (type === 'boolean') return 'false'
  if (type === 'bigint') return String(serial)
  if (type === 'bytea') return '\\x00'
  return type === 'text' ? `text-${serial}` : '1'
}

/** How many rows each condition finds, by table. */
async function count(conditions: ReadonlyMap<string, string>): Promise<Record<string, number>> {
  const counts = [...conditions].map(
    ([table, condition]) => `select '${table}' as table, count(*)::int as rows from ${table} where ${condition}`,
  )
  const found = await app.database.rows<{ table: string; rows: number }>(counts.join(' union all '))
  return Object.fromEntries(found.map(({ rows, table }) => [table, rows]))
}

test('a purge deletes the rows of the workspace in every table, and no others', async () => {
  const all = await columns()
  const tables = tablesOfWorkspaces(all)
  expect(tables).toEqual(expect.arrayContaining(['streams', 'chat_edits', 'group_members', 'audit_log', 'actor_fence']))
  for (const name of ['gone', 'stays']) await world.workspace(name, `${name}owner`)
  const workspaceId = world.id('gone')
  await world.as('goneowner').call(deleteWorkspace, { path: { workspaceId }, body: { name: 'gone' } })
  const gone = await fill(all, tables, workspaceId, world.id('goneowner'))
  const stays = await fill(all, tables, world.id('stays'), world.id('staysowner'))
  const each = Object.fromEntries(tables.map((table) => [table, 1]))
  expect(await count(gone)).toEqual(each)
  clock.advance(30 * DAY)
  expect(await app.composition.services.workspaces.service.purgeDue()).toBe(1)

  const left = Object.entries(await count(gone)).flatMap(([table, rows]) => (rows > 0 ? [table] : []))
  expect(left.toSorted()).toEqual(Object.keys(KEPT).toSorted())
  expect(await count(stays)).toEqual(each)
})

test('a purge empties tables in small statements before it deletes the workspace', async () => {
  const owner = 'manyowner'
  const workspaceId = await world.workspace('many', owner)
  const ids = Array.from({ length: 450 }, () => uuidv7(newSerial()))
  await app.database.run(
    `insert into assets (id, workspace_id, file_id, kind, size, name, alt_text, tags, uploaded_by, version, created_at, updated_at)
     select id, $2, id, 'image', 1, 'a.png', '', '{}', id, 1, now(), now() from unnest($1::uuid[]) id`,
    [ids, workspaceId],
  )
  // A member with a role of the workspace, which the foreign key of the membership does not let go before.
  const [roleId, member] = [uuidv7(newSerial()), await world.user('manymember')]
  await app.database.run(
    `insert into roles (id, workspace_id, name, scopes, created_at, updated_at) values ($1, $2, 'x', '{}', now(), now())`,
    [roleId, workspaceId],
  )
  await app.database.run(
    `insert into workspace_members (workspace_id, user_id, role_id, joined_at, updated_at) values ($2, $3, $1, now(), now())`,
    [roleId, workspaceId, member.id],
  )
  await world.as(owner).call(deleteWorkspace, { path: { workspaceId }, body: { name: 'many' } })
  clock.advance(30 * DAY)
  const statements: string[] = []
  const run = app.database.run.bind(app.database)
  app.database.run = (text, values) => {
    statements.push(text)
    return run(text, values)
  }
  try {
    expect(await app.composition.services.workspaces.service.purgeDue()).toBeGreaterThan(0)
  } finally {
    app.database.run = run
  }
  const of = (table: string) => statements.findLastIndex((text) => text.startsWith(`delete from ${table} `))
  expect(statements.filter((text) => text.startsWith('delete from assets ')).length).toBeGreaterThan(1)
  expect(of('chat_log')).toBeLessThan(of('channels'))
  expect(of('post_segments')).toBeLessThan(of('posts'))
  expect([of('social_accounts'), of('workspaces')]).toEqual([-1, -1])
})

test('turns of a recording whose workspace was purged are refused', async () => {
  const owner = 'lateowner'
  await world.workspace('late', owner)
  const workspaceId = world.id('late')
  await world.as(owner).call(deleteWorkspace, { path: { workspaceId }, body: { name: 'late' } })
  clock.advance(30 * DAY)
  await app.composition.services.workspaces.service.purgeDue()
  const recording: RecordingFile = {
    name: 'late.mp4',
    workspaceId,
    streamId: uuidv7(clock.now()),
    sessionId: uuidv7(clock.now()),
    startedAt: new Date(clock.now()).toISOString(),
  }
  const { turns } = app.composition
  const file = { fileId: uuidv7(clock.now()), kind: 'video', size: 1 } as KeptRecording['file']
  const purged = { code: 'not_found', message: 'The workspace of the recording has been purged.' }
  await expect(turns.system(workspaceId, recordingBegun, recording)).rejects.toMatchObject(purged)
  await expect(turns.system(workspaceId, recordingLost, { recording, reason: 'gone' })).rejects.toMatchObject(purged)
  const kept = { recording, file, seconds: 1, reservationId: file.fileId }
  await expect(turns.system(workspaceId, keepRecording, kept)).rejects.toMatchObject(purged)
  expect(await app.database.rows('select 1 from stream_recordings where workspace_id = $1', [workspaceId])).toEqual([])
})
