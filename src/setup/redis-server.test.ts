import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toolPath } from '../../test/support/tools.ts'
import { waitFor } from '../../test/support/wait.ts'
import { openDataDirectory } from './data-directory.ts'
import type { DataDirectory } from './data-directory.ts'
import { processIdentity } from './process-identity.ts'
import { findRedisServer, startPrivateRedis } from './redis-server.ts'

const binary = toolPath('redis-server').command
const log = pino({ level: 'silent' })

let root: string
let directory: DataDirectory
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'crier-redis-'))
  directory = await openDataDirectory(join(root, 'data'))
})
afterEach(() => {
  directory.close()
  rmSync(root, { recursive: true })
})

const start = () => startPrivateRedis({ dataDirectory: directory, binary, log })
const record = () => join(directory.path, 'redis/process.json')
const serverPid = () => (JSON.parse(readFileSync(record(), 'utf8')) as { pid: number }).pid

/** Runs a command on its own connection, without retries. */
async function ask(url: string, ...command: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.call(...command)
  } finally {
    client.disconnect()
  }
}

describe('a private Redis', () => {
  test('requires its password, which no process shows', async () => {
    const server = await start()
    expect(await ask(server.url, 'PING')).toBe('PONG')
    const { password, port } = new URL(server.url)
    const stranger = connect(Number(port), '127.0.0.1')
    stranger.end('PING\r\nAUTH guess\r\nPING\r\n')
    const answers = (await text(stranger)).split('\r\n').map((line) => line.split(' ')[0])
    expect(answers).toEqual(['-NOAUTH', '-WRONGPASS', '-NOAUTH', ''])
    expect(readFileSync(`/proc/${serverPid()}/cmdline`, 'utf8')).not.toContain(password)
    await server.stop()
  })

  test('listens on this machine only, stores nothing and evicts nothing', async () => {
    const server = await start()
    const settings = await ask(server.url, 'CONFIG', 'GET', 'bind', 'save', 'appendonly', 'maxmemory-policy', 'hz')
    const pairs = Object.fromEntries(
      (settings as string[]).flatMap((name, at, all) => (at % 2 === 0 ? [[name, all[at + 1]]] : [])),
    )
    expect(pairs).toEqual({
      bind: '127.0.0.1',
      save: '',
      appendonly: 'no',
      'maxmemory-policy': 'noeviction',
      hz: '100',
    })
    await server.stop()
  })

  test('restarts on the same address after a kill -9', async () => {
    const server = await start()
    const pid = serverPid()
    process.kill(pid, 'SIGKILL')
    expect(await waitFor(() => ask(server.url, 'PING'), { what: 'Redis to come back' })).toBe('PONG')
    expect(serverPid()).not.toBe(pid)
    await server.stop()
  })

  test('is gone after stop', async () => {
    const server = await start()
    const pid = serverPid()
    await server.stop()
    expect(processIdentity(pid)).toBeUndefined()
    await expect(ask(server.url, 'PING')).rejects.toThrow()
  })

  test.runIf(process.platform === 'linux')('ends when Crier is killed', async () => {
    directory.close()
    const modules = ['data-directory', 'redis-server'].map((name) => new URL(`.//${name}.ts`, import.meta.url).href)
    const script = `
      const [{ openDataDirectory }, { startPrivateRedis }] = await Promise.all(${JSON.stringify(modules)}.map((m) => import(m)))
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const [folder, binary] = process.argv.slice(1)
      await startPrivateRedis({ dataDirectory: await openDataDirectory(folder), binary, log })
      console.log('ready')
      setInterval(() => {}, 1e6)`
    const crier = spawn(process.execPath, ['--input-type=module', '-e', script, directory.path, binary], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(crier.stdout, 'data')
    const pid = serverPid()
    crier.kill('SIGKILL')
    await waitFor(() => processIdentity(pid) === undefined, { what: 'Redis to end' })
    directory = await openDataDirectory(directory.path)
  })

  test('an orphaned server is ended, but not another process with its pid', async () => {
    mkdirSync(join(directory.path, 'redis'))
    const orphan = spawn(binary, ['--port', '0', '--unixsocket', join(root, 'socket')], {
      cwd: root,
      stdio: 'ignore',
    })
    const pid = orphan.pid ?? 0
    await waitFor(() => existsSync(join(root, 'socket')))
    const gone = once(orphan, 'exit')
    writeFileSync(record(), JSON.stringify({ pid, identity: 'other process' }))
    const first = await start()
    expect(processIdentity(pid)).toBeDefined()
    await first.stop()
    writeFileSync(record(), JSON.stringify({ pid, identity: processIdentity(pid) }))
    const second = await start()
    await gone
    await second.stop()
  })

  test('a failed start reports the reason', async () => {
    await expect(startPrivateRedis({ dataDirectory: directory, binary: join(root, 'nowhere'), log })).rejects.toThrow(
      /Redis did not start|ENOENT/,
    )
  })
})

describe('findRedisServer', () => {
  test('finds the first executable on PATH', () => {
    mkdirSync(join(root, 'a/redis-server'), { recursive: true })
    for (const [folder, mode] of [
      ['b', 0o644],
      ['c', 0o755],
      ['d', 0o755],
    ] as const) {
      mkdirSync(join(root, folder))
      writeFileSync(join(root, folder, 'redis-server'), '', { mode })
    }
    expect(findRedisServer(['a', 'none', 'b', 'c', 'd'].map((folder) => join(root, folder)).join(':'))).toBe(
      join(root, 'c/redis-server'),
    )
  })

  test('finds nothing on an empty PATH', () => {
    expect(findRedisServer('')).toBeUndefined()
    expect(findRedisServer('.:')).toBeUndefined()
  })
})
