import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { codeBlocks } from '../support/guides.ts'
import { PIXEL } from '../support/pixel.ts'
import { waitFor } from '../support/wait.ts'

/** Runs the commands of docs/operations.md unchanged, on a Crier with data. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

let folder: string
let running: CrierProcess[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-operations-'))
})
afterEach(async () => {
  for (const crier of running) await crier.stop()
  running = []
  await rm(folder, { recursive: true, force: true })
})

async function start(env: Record<string, string> = {}, main?: string): Promise<CrierProcess> {
  const crier = await CrierProcess.start(folder, undefined, { REDIS_PRIVATE: '0', ...env }, main)
  running.push(crier)
  return crier
}

async function stop(crier: CrierProcess): Promise<void> {
  running = running.filter((one) => one !== crier)
  expect(await crier.stop()).toBe(0)
}

/** Runs the commands of the page's block with this name. */
async function commands(name: string, env: Record<string, string> = {}): Promise<void> {
  const blocks = codeBlocks('operations.md', `sh ${name}`)
  expect(blocks, name).toHaveLength(1)
  await run('sh', ['-eu', '-c', blocks[0] ?? ''], { cwd: folder, env: { PATH: process.env['PATH'], ...env } })
}

interface Known {
  readonly apiKey: string
  readonly assetId: string
}

/** Creates a user with a workspace, a destination with its sealed key, and a file. */
async function fill(crier: CrierProcess): Promise<Known> {
  const email = 'ada@example.com'
  const signUp = await crier.send('POST /api/auth/signup', { body: { email, password: 'correct horse battery' } })
  await crier.send('POST /api/auth/verify-otp', { body: { email, otp: await crier.outbox.code(email) } })
  const { apiKey } = signUp.body.user
  const workspace = await crier.send('POST /api/workspaces', { apiKey, body: { name: 'Acme', timezone: 'UTC' } })
  const uploaded = await crier.send('POST /api/assets/upload', {
    apiKey,
    body: { workspaceId: workspace.body.data._id },
    file: { name: 'pixel.png', content: PIXEL, type: 'image/png' },
  })
  expect(uploaded.status, uploaded.text).toBe(201)
  return { apiKey, assetId: uploaded.body.data._id }
}

async function names(crier: CrierProcess, apiKey: string): Promise<string[]> {
  const { body } = await crier.send('GET /api/workspaces', { apiKey })
  return (body.data as { name: string }[]).map(({ name }) => name)
}

async function expectAll(crier: CrierProcess, { apiKey, assetId }: Known): Promise<void> {
  expect(await names(crier, apiKey)).toEqual(['Acme'])
  const file = await crier.send('GET /api/assets/{id}/file', { apiKey, path: { id: assetId } })
  expect([file.status, file.headers.get('content-length')]).toEqual([200, String(PIXEL.length)])
}

test('backs up and restores an embedded installation, upgrades it and rolls back', async () => {
  const first = await start()
  const known = await fill(first)
  await stop(first)
  await commands('backup')
  await rm(join(folder, 'data'), { recursive: true })
  await commands('restore')
  const restored = await start()
  await expectAll(restored, known)
  await stop(restored)

  const newer = await start({}, await newerBuild())
  await expectAll(newer, known)
  const added = await newer.send('POST /api/workspaces', {
    apiKey: known.apiKey,
    body: { name: 'Later', timezone: 'UTC' },
  })
  expect(added.status, added.text).toBe(201)
  await stop(newer)
  await expect(start()).rejects.toThrow('The database was migrated by a newer version of Crier (9999-next)')

  await commands('restore')
  await expectAll(await start(), known)
})

/** Builds this version with one more migration. @returns its main file */
async function newerBuild(): Promise<string> {
  const build = join(folder, 'newer')
  for (const name of ['package.json', 'src', 'actors', 'media', 'sandbox', 'docs']) {
    await cp(join(ROOT, name), join(build, name), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(build, 'node_modules'))
  const migrations = join(build, 'src/db/migrations')
  await writeFile(
    join(migrations, '9999-next.ts'),
    `import { Migration } from '@mikro-orm/migrations'
export class Next extends Migration {
  override up(): void {
    this.addSql('create table next_version (id uuid primary key)')
  }
}
`,
  )
  const index = await readFile(join(migrations, 'index.ts'), 'utf8')
  const extended = index.replace(/,?\s*\]\s*$/, ",\n  { name: '9999-next', class: Next },\n]\n")
  expect(extended).not.toBe(index)
  await writeFile(join(migrations, 'index.ts'), `import { Next } from './9999-next.ts'\n${extended}`)
  return join(build, 'src/main.ts')
}

/** Where Debian installs PostgreSQL's programs. */
const DEBIAN = '/usr/lib/postgresql'
const version = existsSync(DEBIAN)
  ? readdirSync(DEBIAN).find((name) => existsSync(join(DEBIAN, name, 'bin/initdb')))
  : undefined

// No npm package has `pg_dump`: the test needs Debian's postgresql, server included.
test.skipIf(version === undefined)('backs up an external database while Crier runs, and restores it', async () => {
  const programs = join(DEBIAN, version ?? '', 'bin')
  const server = await startServer(programs)
  const env = { DATABASE_URL: server.url }
  try {
    const first = await start(env)
    const known = await fill(first)
    await commands('backup-external', { ...env, PATH: `${programs}:${process.env['PATH']}` })
    await first.send('POST /api/workspaces', { apiKey: known.apiKey, body: { name: 'Later', timezone: 'UTC' } })
    await stop(first)
    await rm(join(folder, 'data'), { recursive: true })
    await commands('restore-external', { ...env, PATH: `${programs}:${process.env['PATH']}` })
    const restored = await start(env)
    await expectAll(restored, known)
    await stop(restored)
  } finally {
    await server.stop()
  }
})

async function startServer(programs: string): Promise<{ url: string; stop(): Promise<void> }> {
  const cluster = join(folder, 'cluster')
  await mkdir(cluster, { mode: 0o700 })
  // PostgreSQL refuses to run as root, so it runs as `nobody`.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  if ('uid' in user) {
    await chown(folder, 65_534, 65_534)
    await chown(cluster, 65_534, 65_534)
  }
  await run(
    join(programs, 'initdb'),
    ['-D', cluster, '-U', 'crier', '--auth=trust', '--encoding=UTF8', '--locale=C'],
    user,
  )
  const port = await freeLoopbackPort()
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'fsync=off']
  const child: ChildProcess = spawn(
    join(programs, 'postgres'),
    ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])],
    { ...user, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let output = ''
  child.stderr?.on('data', (bytes: Buffer) => (output += bytes.toString()))
  await waitFor(() => output.includes('ready to accept connections'), {
    what: 'PostgreSQL to be ready',
  })
  return {
    url: `postgresql://crier@127.0.0.1:${port}/postgres`,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGINT')
      await ended
    },
  }
}
