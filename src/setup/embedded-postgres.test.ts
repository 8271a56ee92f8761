import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { openDataDirectory } from './data-directory.ts'
import type { DataDirectory } from './data-directory.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'
import type { EmbeddedPostgres } from './embedded-postgres.ts'
import { prepareCluster } from './postgres-cluster.ts'
import { findPostgresPrograms } from './postgres-programs.ts'
import { processIdentity } from './process-identity.ts'
import { commandLine } from './unprivileged.ts'

interface LogLine {
  level: number
  msg: string
}

let root: string
let directory: DataDirectory
let lines: LogLine[]
const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(JSON.parse(line) as LogLine) })
const said = (text: string) => lines.some(({ msg }) => msg.includes(text))
const start = () => startEmbeddedPostgres({ dataDirectory: directory, log })

// All tests share one cluster. Each leaves it intact and stopped.
beforeAll(async () => {
  lines = []
  root = mkdtempSync(join(tmpdir(), 'crier-postgres-'))
  directory = await openDataDirectory(join(root, 'data'))
  const server = await start()
  await server.stop()
})
afterAll(() => {
  directory.close()
  rmSync(root, { recursive: true })
})
beforeEach(() => {
  lines = []
})

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  // A test may kill the server while the query runs. The query then fails, which is fine.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

const postmasterPid = () => Number(readFileSync(join(directory.path, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
const writeRow = (url: string, text: string) =>
  query(url, `drop table if exists kept; create table kept (text text); insert into kept values ('${text}')`)
const readRows = async (url: string) => (await query(url, 'select text from kept')).map(({ text }) => text)

describe('the server', () => {
  test('has its own database and safe settings', async () => {
    const server = await start()
    const [settings] = await query(
      server.url,
      `select current_database() as database, current_user as user, current_setting('server_version') as version,
         current_setting('data_checksums') as checksums, current_setting('fsync') as fsync,
         current_setting('full_page_writes') as pages, current_setting('synchronous_commit') as commit,
         current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
         current_setting('server_encoding') as encoding, current_setting('timezone') as zone, lower('ÄΣ') as lower`,
    )
    expect(settings).toEqual({
      database: 'crier',
      user: 'crier',
      version: server.version,
      checksums: 'on',
      fsync: 'on',
      pages: 'on',
      commit: 'on',
      addresses: '127.0.0.1',
      sockets: '',
      encoding: 'UTF8',
      zone: 'UTC',
      lower: 'äσ',
    })
    await server.stop()
  })

  test('requires a password that no process shows', async () => {
    const server = await start()
    const { password } = new URL(server.url)
    const wrong = server.url.replace(password, 'guess')
    await expect(query(wrong, 'select 1')).rejects.toThrow(/password authentication failed/)
    expect(readFileSync(`/proc/${postmasterPid()}/cmdline`, 'utf8')).not.toContain(password)
    expect(statSync(join(directory.path, 'secrets/postgres-password')).mode & 0o077).toBe(0)
    expect(statSync(join(directory.path, 'postgres')).mode & 0o077).toBe(0)
    await server.stop()
  })

  test('does not use a cluster that a killed initdb left incomplete', async () => {
    const other = await openDataDirectory(join(root, 'other'))
    mkdirSync(join(other.path, 'postgres.new'))
    writeFileSync(join(other.path, 'postgres.new/PG_VERSION'), '18\n')
    const server = await startEmbeddedPostgres({ dataDirectory: other, log, durable: false })
    expect(await query(server.url, `select current_setting('fsync') as fsync`)).toEqual([{ fsync: 'off' }])
    await server.stop()
    other.close()
  })
})

describe('committed data', () => {
  test('survives a restart', async () => {
    const first = await start()
    await writeRow(first.url, 'a')
    await first.stop()
    const second = await start()
    expect(await readRows(second.url)).toEqual(['a'])
    await second.stop()
  })

  test('survives a kill -9 of the server, which restarts on the same address', async () => {
    const server = await start()
    await writeRow(server.url, 'a')
    const pid = postmasterPid()
    process.kill(pid, 'SIGKILL')
    const rows = await waitFor(() => readRows(server.url), { what: 'the server to come back' })
    expect(rows).toEqual(['a'])
    expect(postmasterPid()).not.toBe(pid)
    expect(said('PostgreSQL ended unexpectedly')).toBe(true)
    await waitFor(() => said('PostgreSQL is running again'))
    await server.stop()
    await expect(query(server.url, 'select 1')).rejects.toThrow(/ECONNREFUSED/)
  })

  test('survives a kill -9 of Crier, which also ends the server', async () => {
    directory.close()
    const { crier, url } = await startInProcess(directory.path)
    await writeRow(url, 'a')
    const pid = postmasterPid()
    crier.kill('SIGKILL')
    await waitFor(() => processIdentity(pid) === undefined, { what: 'the server to end' })
    directory = await openDataDirectory(directory.path)
    const server = await start()
    expect(await readRows(server.url)).toEqual(['a'])
    await server.stop()
  })

  test('survives a kill -9 of Crier and of the server during a long statement', async () => {
    directory.close()
    const { crier, url } = await startInProcess(directory.path)
    await writeRow(url, 'a')
    // A computing session, unlike a sleeping one, does not notice that its server is gone.
    const cut = expect(query(url, 'select count(*) from generate_series(1, 1e15) as busy')).rejects.toThrow()
    const busy = `select 1 from pg_stat_activity where query like '%as busy' and pid <> pg_backend_pid()`
    await waitFor(async () => (await query(url, busy)).length)
    process.kill(postmasterPid(), 'SIGKILL')
    crier.kill('SIGKILL')
    await once(crier, 'exit')
    directory = await openDataDirectory(directory.path)
    const server = await start()
    await cut
    expect(await readRows(server.url)).toEqual(['a'])
    await server.stop()
  })
})

describe('leftovers', () => {
  test('an orphaned server is stopped before the new one starts', async () => {
    const first = await start()
    await writeRow(first.url, 'a')
    await first.stop()
    const orphan = await startOrphan(directory)
    const server = await start()
    expect(processIdentity(orphan.pid ?? 0)).toBeUndefined()
    expect(said('stopping the PostgreSQL server that a killed Crier left behind')).toBe(true)
    expect(await readRows(server.url)).toEqual(['a'])
    await server.stop()
  })

  test.each([
    [
      'of another process with the same pid',
      () => `${process.ppid}\n${join(directory.path, 'postgres')}\n1\n5432\n\n\n`,
    ],
    ['of no process', () => `${2 ** 22 + 1}\n${join(directory.path, 'postgres')}\n1\n5432\n\n\n`],
    ['that is empty', () => ''],
  ])('a pid file %s does not block', async (_, content) => {
    const first = await start()
    await first.stop()
    writeFileSync(join(directory.path, 'postgres/postmaster.pid'), content())
    const server = await start()
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await server.stop()
  })
})

describe('stop', () => {
  test('ends open sessions and leaves no processes', async () => {
    const server = await start()
    const pid = postmasterPid()
    const open = expect(query(server.url, 'select pg_sleep(600)')).rejects.toThrow(/terminat/)
    await waitFor(
      async () => (await query(server.url, `select 1 from pg_stat_activity where wait_event = 'PgSleep'`)).length,
    )
    await server.stop()
    await open
    // A shutdown that waits for sessions would have been followed by a forced one.
    expect([said('received fast shutdown request'), said('received immediate shutdown request')]).toEqual([true, false])
    expect(processIdentity(pid)).toBeUndefined()
  })

  test('also ends a server that is about to be restarted', async () => {
    const server = await start()
    process.kill(postmasterPid(), 'SIGKILL')
    await waitFor(() => said('PostgreSQL ended unexpectedly'))
    await server.stop()
    await expect(query(server.url, 'select 1')).rejects.toThrow(/ECONNREFUSED/)
  })
})

test('a cluster of another major version is refused with instructions', async () => {
  const other = await openDataDirectory(join(root, 'older'))
  mkdirSync(join(other.path, 'postgres'))
  writeFileSync(join(other.path, 'postgres/PG_VERSION'), '17\n')
  await expect(startEmbeddedPostgres({ dataDirectory: other, log })).rejects.toThrow(
    /was created by PostgreSQL 17.*DATABASE_URL/,
  )
  other.close()
})

/** Another Crier process that uses the folder. */
async function startInProcess(folder: string): Promise<{ crier: ChildProcess; url: EmbeddedPostgres['url'] }> {
  const modules = ['data-directory', 'embedded-postgres'].map((name) => new URL(`.//${name}.ts`, import.meta.url).href)
  const script = `
    const [{ openDataDirectory }, { startEmbeddedPostgres }] = await Promise.all(${JSON.stringify(modules)}.map((m) => import(m)))
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const { url } = await startEmbeddedPostgres({ dataDirectory: await openDataDirectory(process.argv[1]), log })
    console.log(url)
    setInterval(() => {}, 1e6)`
  const crier = spawn(process.execPath, ['--input-type=module', '-e', script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { crier, url: String((await once(crier.stdout, 'data'))[0]).trim() }
}

/** Another server on the folder's cluster, with its own socket. */
async function startOrphan(directory: DataDirectory): Promise<ChildProcess> {
  const programs = await findPostgresPrograms()
  const cluster = await prepareCluster({ parent: directory.path, programs, password: '', durable: true })
  const settings = ['-c', 'listen_addresses=', '-c', 'unix_socket_directories=/tmp', '-p', '29999']
  const [command, args] = commandLine(cluster.launcher, programs.postgres, ['-D', cluster.folder, ...settings])
  const orphan = spawn(command, args, { ...cluster.launcher.user, env: {}, stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const line of createInterface({ input: orphan.stderr })) if (line.includes('ready to accept')) break
  return orphan
}
