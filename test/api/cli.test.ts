import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readDeviceToken } from '../../src/cli/settings.ts'
import { ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { turnOnSecondFactor } from '../support/authenticator.ts'
import type { SeededUser } from '../support/seed.ts'
import { World } from '../support/world.ts'

/** The command line in a separate process, against a real server. */

const CLI = fileURLToPath(new URL('../../src/cli/cli.mjs', import.meta.url))

let app: App
let world: World
let ada: SeededUser
let workspaceId: string
let home: string

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  ada = await world.user('ada', { plan: 'business' })
  workspaceId = await world.workspace('acme', 'ada')
})
afterAll(() => app?.stop())

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'crier-cli-'))
  return () => rm(home, { recursive: true, force: true })
})

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function crier(
  args: readonly string[],
  more: { env?: Record<string, string>; stdin?: string; node?: string[] } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [...(more.node ?? []), CLI, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: home, CRIER_URL: app.url, ...more.env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => void (stdout += String(chunk)))
  child.stderr.on('data', (chunk) => void (stderr += String(chunk)))
  child.stdin.end(more.stdin ?? '')
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

const asAda = (...args: string[]) => crier(args, { env: { CRIER_API_KEY: ada.apiKey } })
const loginFile = () => join(home, 'crier', 'login.json')
const savedLogin = async () => JSON.parse(await readFile(loginFile(), 'utf8')) as Record<string, unknown>

async function stub(
  answer: (headers: IncomingHttpHeaders) => { status: number; headers?: Record<string, string>; body: string },
) {
  const server: Server = createServer((request, response) => {
    const { status, headers, body } = answer(request.headers)
    request
      .resume()
      .on('end', () => response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

describe('help and usage errors', () => {
  test('exits with 0 after --help at every level, and with 2 without arguments', async () => {
    expect(await crier(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('streams'), stderr: '' })
    expect(await crier(['streams', '--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('go-live') })
    expect(await crier(['streams', 'create', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('--workspace-id'),
    })
    expect(await crier(['help', 'streams', 'create'])).toEqual(await crier(['streams', 'create', '--help']))
    expect(await crier(['login', '--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('--api-key') })
    expect(await crier([])).toMatchObject({ code: 2, stdout: expect.stringContaining('Usage') })
    expect(await crier(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })

  test.each([
    [['straems', 'list'], 'unknown domain straems; did you mean streams?'],
    [['streams', 'creat'], 'unknown command creat; did you mean create?'],
    [['streams', 'create', '--titel', 'x'], "unknown option '--titel'; did you mean --title?"],
    [['streams', 'create', 'Friday'], 'unexpected argument: Friday'],
    [['streams', 'create'], 'missing --workspace-id, --title'],
    [['streams', 'list', '--workspace-id', 'x', '--limit', 'many'], '--limit must be a number'],
    [['health', 'get', '--server', 'nowhere'], 'not a valid URL'],
  ])('crier %j exits with 2', async (args, message) => {
    const ended = await crier(args)
    expect([ended.code, ended.stdout]).toEqual([2, ''])
    expect(ended.stderr).toContain(message)
  })

  test('runs on the Node from npm when the installed one is too old', async () => {
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })`
    const node = ['--import', `data:text/javascript,${encodeURIComponent(older)}`]
    expect(await crier(['--version'], { node })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
    expect(await crier(['streams', 'nonsense'], { node })).toMatchObject({ code: 2 })
    expect(await crier(['health', 'get'], { node })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Alive'),
    })
  })
})

describe('commands', () => {
  test('create, list, show, update and delete a stream', async () => {
    const made = await asAda('streams', 'create', '--workspace-id', workspaceId, '--title', 'Launch day')
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toMatch(/^title +Launch day$/m)
    const id = /^_id +(\S+)$/m.exec(made.stdout)?.[1] ?? ''
    const listed = await asAda('streams', 'list', '--workspaceId', workspaceId)
    expect(listed.stdout).toMatch(new RegExp(`^Launch day +${id} `, 'm'))
    const shown = await asAda('streams', 'get', id, '--json')
    expect(JSON.parse(shown.stdout)).toMatchObject({ status: true, data: { _id: id, title: 'Launch day' } })
    expect(await asAda('streams', 'get', id, '--get', '_id', '--get', 'title')).toMatchObject({
      code: 0,
      stdout: `${id}\nLaunch day\n`,
    })
    const changed = await asAda('streams', 'update', id, '--title', 'Later', '--if-match', '"1"', '--json')
    expect(JSON.parse(changed.stdout)).toMatchObject({ data: { title: 'Later', version: 2 } })
    const late = await asAda('streams', 'update', '--id', id, '--title', 'Too late', '--if-match', '"1"')
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('(precondition_failed)') })
    expect(await asAda('streams', 'delete', id)).toMatchObject({ code: 0 })
  })

  test('read the body from a file or standard input, and JSON from flags', async () => {
    const file = join(home, 'stream.json')
    await writeFile(file, JSON.stringify({ workspaceId, title: 'From a file' }))
    const fromFile = await asAda('streams', 'create', '--body', `@${file}`, '--description', 'and a flag', '--json')
    expect(JSON.parse(fromFile.stdout).data).toMatchObject({ title: 'From a file', description: 'and a flag' })
    const piped = await crier(['streams', 'create', '--input', '-', '--json'], {
      env: { CRIER_API_KEY: ada.apiKey },
      stdin: JSON.stringify({ workspaceId, title: 'Piped' }),
    })
    expect(JSON.parse(piped.stdout).data).toMatchObject({ title: 'Piped' })
    const nested = await asAda('users', 'update-publishing-settings', '--utm', '{"enabled":true}', '--json')
    expect(JSON.parse(nested.stdout)).toMatchObject({ status: true })
  })

  test('have one effect per idempotency key', async () => {
    const args = [
      'streams',
      'create',
      '--workspace-id',
      workspaceId,
      '--title',
      'Once',
      '--idempotency-key',
      'once',
      '--json',
    ]
    const [first, second] = [await asAda(...args), await asAda(...args)]
    expect(JSON.parse(first.stdout).data._id).toBe(JSON.parse(second.stdout).data._id)
  })

  test('print Done after a reply without data', async () => {
    const { apiKey } = await world.user('root', { admin: true })
    const toggled = await crier(['services', 'toggle', 'plans', '--enabled'], { env: { CRIER_API_KEY: apiKey } })
    expect(toggled).toEqual({ code: 0, stdout: 'Done\n', stderr: '' })
  })
})

describe('errors', () => {
  test('exits with 1 when the server rejects a request, and prints message, code, fields and request id', async () => {
    const ended = await asAda('streams', 'create', '--workspace-id', 'no-id', '--title', '')
    expect([ended.code, ended.stdout]).toEqual([1, ''])
    expect(ended.stderr).toMatch(/^crier: .+ \(validation_failed\)$/m)
    expect(ended.stderr).toMatch(/^ {2}--workspace-id must be /m)
    expect(ended.stderr).toMatch(/^ {2}--title must not be empty$/m)
    expect(ended.stderr).toMatch(/request req_\w+, see http.*#validation_failed/)
    const nobody = await crier(['users', 'get-profile'])
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('crier login') })
  })

  test('prints errors as JSON with --json', async () => {
    const ended = await crier(['users', 'get-profile', '--json'], { env: { CRIER_API_KEY: 'crier_wrong' } })
    expect([ended.code, ended.stdout]).toEqual([1, ''])
    expect(JSON.parse(ended.stderr)).toMatchObject({ status: false, httpStatus: 401, code: 'invalid_credential' })
  })

  test('exits with 3 for an unreachable server, a server error and a reply that is not JSON', async () => {
    const nobody = await crier(['plans', 'list', '--server', 'http://127.0.0.1:1'])
    expect(nobody).toMatchObject({ code: 3, stderr: 'crier: http://127.0.0.1:1 cannot be reached\n' })
    const broken = await stub(() => ({
      status: 500,
      body: '{"status":false,"message":"Broken","code":"internal_error"}',
    }))
    expect(await crier(['plans', 'list', '--server', broken.url])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Broken'),
    })
    broken.close()
    const other = await stub(() => ({ status: 200, body: '<html>' }))
    expect(await crier(['plans', 'list', '--server', other.url])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('not JSON'),
    })
    other.close()
  })
})

describe('login', () => {
  test('reads the password from standard input, saves a private file, and logs out', async () => {
    const ended = await crier(['login', '--email', ada.email], { stdin: `${ada.password}\n` })
    expect(ended).toMatchObject({ code: 0, stdout: `Logged in to ${app.url} as ${ada.email}\n` })
    expect((await stat(loginFile())).mode & 0o777).toBe(0o600)
    expect(await readFile(loginFile(), 'utf8')).not.toContain(ada.password)
    expect((await crier(['users', 'get-profile'])).stdout).toContain(ada.email)
    const { accessToken, refreshToken } = (await savedLogin()) as { accessToken: string; refreshToken: string }
    expect(await crier(['logout'])).toMatchObject({ code: 0 })
    await expect(stat(loginFile())).rejects.toThrow('ENOENT')
    expect((await app.send('POST /api/auth/refresh', { body: { refreshToken } })).status).toBe(401)
    expect((await app.send('GET /api/users/me', { token: accessToken })).status).toBe(401)
    expect(await crier(['users', 'get-profile'])).toMatchObject({ code: 1 })
  })

  test('asks for a code if the account has a second factor', async () => {
    const { apiKey, email, name, password } = await world.user('grace')
    const { recoveryCodes } = await turnOnSecondFactor(app, { apiKey, password })
    const refused = await crier(['login', '--email', email], { stdin: `${password}\n` })
    expect(refused).toMatchObject({ code: expect.any(Number), stderr: expect.stringContaining('was not given') })
    const ended = await crier(['login', '--email', email], { stdin: `${password}\n${recoveryCodes[0]}\n` })
    expect(ended, name).toMatchObject({ code: 0, stdout: `Logged in to ${app.url} as ${email}\n` })
  })

  test('renews an expired access token and saves it', async () => {
    await crier(['login', '--email', ada.email], { stdin: `${ada.password}\n` })
    const before = await savedLogin()
    await writeFile(loginFile(), JSON.stringify({ ...before, expiresAt: 0 }))
    expect(await crier(['users', 'get-profile'])).toMatchObject({ code: 0, stdout: expect.stringContaining(ada.email) })
    const after = await savedLogin()
    expect(after['refreshToken']).not.toBe(before['refreshToken'])
    expect((await stat(loginFile())).mode & 0o777).toBe(0o600)
  })

  test('accepts a valid API key only', async () => {
    expect(await crier(['login', '--api-key', 'crier_wrong'])).toMatchObject({ code: 1 })
    await expect(stat(loginFile())).rejects.toThrow('ENOENT')
    const ended = await crier(['login', '--api-key', '-'], { stdin: ada.apiKey })
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining(ada.email) })
    expect(await crier(['users', 'get-profile'])).toMatchObject({ code: 0 })
  })

  test('from a known device works while wrong guesses lock the account elsewhere', async () => {
    // A stopped clock keeps the lock in place.
    const locking = await startApp({ clock: new ManualClock() })
    const other = await stub(() => ({ status: 401, body: '{}' }))
    try {
      const { email, password } = await new World(locking).user('bob')
      const env = { CRIER_URL: locking.url }
      const logIn = () => crier(['login', '--email', email], { env, stdin: `${password}\n` })
      expect(await logIn()).toMatchObject({ code: 0 })
      expect(await crier(['logout'])).toMatchObject({ code: 0 })
      const devices = join(home, 'crier', 'devices.json')
      expect((await stat(devices)).mode & 0o777).toBe(0o600)
      const guess = (guessed: string) =>
        locking.send('POST /api/auth/login', { body: { email, password: guessed } }).then(({ status }) => status)
      for (let guesses = 1; guesses <= 5; guesses += 1) await guess(`guess ${guesses}`)
      expect(await guess(password)).toBe(429)
      expect(await logIn()).toMatchObject({ code: 0 })
      // A device token is sent only to the server that issued it.
      expect(readDeviceToken(devices, locking.url, email)).toMatch(/^crd_/)
      expect(readDeviceToken(devices, other.url, email)).toBeUndefined()
    } finally {
      other.close()
      await locking.stop()
    }
  })

  test('exits with 1 and saves nothing after a wrong password', async () => {
    expect(await crier(['login', '--email', ada.email], { stdin: 'wrong\n' })).toMatchObject({ code: 1 })
    await expect(stat(loginFile())).rejects.toThrow('ENOENT')
  })

  test('exits with 2 without a password', async () => {
    expect(await crier(['login', '--email', ada.email])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('password'),
    })
  })

  test('does not send saved credentials to another server', async () => {
    await crier(['login', '--api-key', '-'], { stdin: ada.apiKey })
    const seen: IncomingHttpHeaders[] = []
    const other = await stub((headers) => {
      seen.push(headers)
      return { status: 200, body: '{"status":true,"message":"Plans","data":[]}' }
    })
    expect(await crier(['plans', 'list', '--server', other.url])).toMatchObject({ code: 0 })
    other.close()
    expect(seen).toHaveLength(1)
    expect(JSON.stringify(seen)).not.toContain(ada.apiKey)
  })
})
