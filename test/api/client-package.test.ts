import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

/**
 * The package `crier-client`, packed, installed in another project, type-checked and run. `npm run typecheck` compares its
 * route types with those of the operations (`packages/client/types-check.ts`).
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PACKAGE = join(ROOT, 'packages/client')
const BIN = join(ROOT, 'node_modules/.bin')
const run = promisify(execFile)

let app: App
let world: World
let project: string

beforeAll(async () => {
  ;[app, project] = await Promise.all([startApp(), installed()])
  world = new World(app)
  await world.workspace('acme', 'ada')
})
afterAll(async () => {
  await app?.stop()
  if (project !== undefined) await rm(project, { recursive: true, force: true })
})

/** Creates a project outside the repository that installs the package from its tarball, offline. */
async function installed(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-client-'))
  const env = { ...process.env, PATH: [BIN, process.env['PATH']].join(delimiter) }
  const { stdout } = await run('npm', ['pack', PACKAGE, '--pack-destination', folder, '--silent'], { env, cwd: folder })
  const tarball = stdout.trim().split('\n').at(-1) ?? ''
  await json(join(folder, 'package.json'), { name: 'another-project', private: true, type: 'module' })
  const quiet = ['--offline', '--no-audit', '--no-fund', '--no-package-lock', '--silent']
  await run('npm', ['install', ...quiet, join(folder, tarball)], { env, cwd: folder })
  await mkdir(join(folder, 'node_modules/@types'))
  for (const name of ['socket.io-client', '@types/node']) {
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), 'dir')
  }
  return folder
}

const json = (path: string, value: unknown) => writeFile(path, JSON.stringify(value, null, 2))

const STRICT = {
  target: 'es2022',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
}

/** The errors that the type checker reports for a file of the project. */
async function checked(file: string, text: string, compilerOptions: object): Promise<string> {
  await writeFile(join(project, file), text)
  const config = join(project, `${file}.json`)
  await json(config, { compilerOptions: { ...STRICT, ...compilerOptions }, files: [file] })
  try {
    await run(join(BIN, 'tsc'), ['-p', config])
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

test('the example of its README type-checks and runs under the installed Node', async () => {
  const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8')
  const [, example = ''] = /```ts\n(.*?)```/s.exec(readme) ?? []
  const options = { module: 'nodenext', lib: ['es2022'], types: ['node'], outDir: 'out' }
  expect(await checked('example.ts', example, options)).toBe('')

  const { stdout, stderr } = await run(await plainNode(), ['out/example.js'], {
    cwd: project,
    env: { ...process.env, CRIER_URL: app.url, CRIER_API_KEY: world.key('ada') },
    timeout: 20_000,
  })
  expect(stderr).toBe('')
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^\d+ channels$/),
    'Launch day: stream.created',
    'validation_failed /body/title',
    '',
  ])
})

/** The Node on the PATH if it is 20 or later, otherwise the one that runs this test. */
async function plainNode(): Promise<string> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  try {
    const script = 'console.log(process.version, process.execPath)'
    const { stdout } = await run('node', ['-e', script], { env: { ...process.env, PATH: folders.join(delimiter) } })
    const [, major, path = process.execPath] = /^v(\d+)\S* (.*)$/m.exec(stdout) ?? []
    return Number(major) >= 20 ? path : process.execPath
  } catch {
    return process.execPath
  }
}

test('rejects wrong calls at compile time in a browser project', async () => {
  const text = `
    import { createClient, SocketClient, type ReplyOf, type RequestOf } from 'crier-client'
    import type { Stream } from 'crier-client/schemas'
    import { io } from 'socket.io-client'
    const crier = createClient({ url: 'http://localhost:1' })
    const sockets = new SocketClient({ url: 'http://localhost:1', io, token: 'x' })
    export const body: RequestOf<'POST /api/streams'>['body'] = { workspaceId: 'x', title: 'Launch day' }
    export const title = (reply: ReplyOf<'POST /api/streams'>): Stream['title'] => reply.body.data.title
    sockets.channel({ workspaceId: 'x', channelId: 'y' }).subscribe(({ state }) => state.messages[0]?.body.trim())
    // @ts-expect-error -- there is no such route
    void crier('GET /api/nothing')
    // @ts-expect-error -- a title is required
    void crier('POST /api/streams', { body: { workspaceId: 'x' } })
    // @ts-expect-error -- a title is text
    void crier('POST /api/streams', { body: { workspaceId: 'x', title: 7 } })
    // @ts-expect-error -- this route takes no file
    void crier('POST /api/streams', { body: { workspaceId: 'x', title: 'y' }, file: new File([], 'a') })
    // @ts-expect-error -- a stream has no such field
    void crier('GET /api/streams/{id}', { path: { id: 'x' } }).then(({ body }) => body.data.nothing)
    // @ts-expect-error -- there is no such operation
    void sockets.call('nothing', {})
    // @ts-expect-error -- the path is required
    void sockets.call('listMessages', {})`
  const options = { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [], noEmit: true }
  expect(await checked('mistakes.ts', text, options)).toBe('')
})

test('has the version and license of the server, and no dependencies', async () => {
  const read = async (path: string) => JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
  const [own, packed] = await Promise.all([
    read(join(ROOT, 'package.json')),
    read(join(project, 'node_modules/crier-client/package.json')),
  ])
  expect([packed['version'], packed['license']]).toEqual([own['version'], own['license']])
  expect(packed['dependencies']).toBeUndefined()
  const script = await readFile(join(project, 'node_modules/crier-client/dist/index.js'), 'utf8')
  expect(script).not.toMatch(/^import |\bfrom ['"]|\bimport\(/m)
})
