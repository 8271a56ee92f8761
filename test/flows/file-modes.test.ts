import { randomBytes } from 'node:crypto'
import { lstat, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSink, type Sink } from '../../media/testing/sink.ts'
import { makeClip } from '../../media/testing/ffmpeg.ts'
import type { App } from '../support/app.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { end, makeSource, push } from '../support/rtmp-servers.ts'
import { connectAtSandbox } from '../support/sandbox-sign-in.ts'
import { waitFor } from '../support/wait.ts'

/** The modes of everything below DATA_DIR, of a server whose user has the most permissive umask. */

let folder: string
let crier: CrierProcess
let sink: Sink

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-modes-'))
  sink = await startSink()
  const before = process.umask(0)
  try {
    crier = await CrierProcess.start(folder, undefined, {
      MEDIA_NICENESS: '0',
      RATE_LIMITS: '0',
      SANDBOX: '1',
      SUPPORT_ADDRESS: 'support@crier.test',
    })
  } finally {
    process.umask(before)
  }
})
afterAll(async () => {
  await crier?.stop()
  await sink?.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 })
})

const data = (...path: string[]) => join(folder, 'data', ...path)

/** Files and folders that the group or others can access, and the folders at the top. */
async function walk(): Promise<{ open: string[]; tops: Set<string> }> {
  const open: string[] = []
  const tops = new Set<string>()
  const visit = async (path: string): Promise<void> => {
    // Temporary files can vanish meanwhile.
    const stats = await lstat(path).catch(() => undefined)
    if (stats === undefined || stats.isSymbolicLink()) return
    // PostgreSQL runs as another user if this one is root, and must be able to reach its folder.
    const allowed = path === data() ? 0o711 : 0o700
    if ((stats.mode & 0o777 & ~allowed) !== 0) open.push(`${path} is ${(stats.mode & 0o777).toString(8)}`)
    if (!stats.isDirectory()) return
    for (const name of await readdir(path).catch(() => [])) {
      if (path === data()) tops.add(name)
      await visit(join(path, name))
    }
  }
  await visit(data())
  return { open, tops }
}

test('nobody else can read what is in the data folder, while it runs and afterwards', async () => {
  expect((await walk()).open).toEqual([])
  const email = `ada-${randomBytes(4).toString('hex')}@example.com`
  const password = 'a long enough password'
  const signedUp = await crier.send('POST /api/auth/signup', { body: { email, password, name: 'Ada' } })
  const otp = await crier.outbox.code(email)
  await crier.send('POST /api/auth/verify-otp', { body: { email, otp } })
  const token: string = (await crier.send('POST /api/auth/login', { body: { email, password } })).body.data.accessToken
  const call = async (route: string, options: object) => {
    const reply = await crier.send(route, { token, ...options })
    expect(reply.status, reply.text).toBeLessThan(300)
    return reply.body.data
  }
  const workspaceId: string = (await call('POST /api/workspaces', { body: { name: 'Acme', timezone: 'UTC' } }))._id

  // A video with thumbnails.
  await makeClip(join(folder, 'clip.mp4'), { seconds: 2, group: 15 })
  const file = {
    name: 'clip.mp4',
    content: new Uint8Array(await readFile(join(folder, 'clip.mp4'))),
    type: 'video/mp4',
  }
  const { _id: id } = await call('POST /api/assets/upload', { body: { workspaceId }, file })
  const asset = () => call('GET /api/assets/{id}', { path: { id } })
  await waitFor(async () => (await asset()).thumbnail.status === 'ready', { what: 'the thumbnails' })

  // An account at the sandbox.
  const sandboxApp = {
    send: (route: string, options: object) => crier.send(route, options),
    config: { PUBLIC_URL: crier.url },
    node: { resources: { config: { PLATFORMS: { linkedin: { apiUrl: crier.url } } } } },
  } as unknown as App
  await connectAtSandbox(sandboxApp, { apiKey: signedUp.body.user.apiKey, workspaceId, platform: 'linkedin' })

  // A mail that cannot be read.
  await writeFile(join(folder, 'mail'), Buffer.alloc(26 * 1024 * 1024))
  await rename(join(folder, 'mail'), data('inbound-mail', 'large.eml'))
  await waitFor(async () => (await readdir(data('inbound-mail', 'failed'))).length === 1, { what: 'the mail' })

  // A stream that is recorded.
  const to = { workspaceId, name: 'one', url: `rtmp://127.0.0.1:${sink.port}/live`, streamKey: 'a-key-for-the-sink' }
  const { _id: accountId } = await call('POST /api/streams/rtmp-destinations', { body: to })
  const platforms = [{ platform: 'custom', accountId }]
  const body = { workspaceId, title: 'Launch', record: true, platforms }
  const { _id: stream, streamKey } = await call('POST /api/streams', { body })
  await call('POST /api/streams/{id}/go-live', { path: { id: stream }, body: { waitForIngest: true } })
  const source = join(folder, 'source.flv')
  await makeSource(source, 30)
  const publisher = push(source, `rtmp://localhost:${crier.rtmpPort}/live/${streamKey}`)
  await waitFor(async () => (await readdir(data('recordings'))).length > 0, { what: 'the recording' })
  const during = await walk()
  await end(publisher, 'SIGKILL')
  await call('POST /api/streams/{id}/stop', { path: { id: stream } })
  expect(during.open).toEqual([])
  await waitFor(async () => (await readdir(data('recordings'))).length === 0, { what: 'the import of the recording' })
  expect(await crier.stop()).toBe(0)
  const after = await walk()
  expect(after.open).toEqual([])
  const expected = ['inbound-mail', 'outbox', 'postgres', 'recordings', 'sandbox', 'secrets', 'storage', 'work']
  expect([...after.tops]).toEqual(expect.arrayContaining(expected))
})
