import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs, { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { mp4Head } from '../support/mp4.ts'
import { World } from '../support/world.ts'

/** A disk that fills up during a write: the reply is 507, no partial file stays, and the reservation is freed. */

const MB = 1_000_000
/** Bytes after which a write to the storage fails. Infinity: never. */
let room = Infinity

/** A write stream that fails like a full disk, so that the test does not need one. */
function limitedWriteStream(...[path, options]: Parameters<typeof createWriteStream>): fs.WriteStream {
  let written = 0
  type Wrote = (error: Error | null, bytes: number) => void
  const full = (bytes: number) => (written += bytes) > room && Object.assign(new Error('no space'), { code: 'ENOSPC' })
  return createWriteStream(path, {
    ...(options as object),
    fs: {
      ...fs,
      write: (fd: number, chunk: Buffer, offset: number, length: number, at: number | null, wrote: Wrote) => {
        const error = full(length)
        if (error) wrote(error, 0)
        else fs.write(fd, chunk, offset, length, at, wrote)
      },
      writev: (fd: number, chunks: Buffer[], at: number | null, wrote: Wrote) => {
        const error = full(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
        if (error) wrote(error, 0)
        else fs.writev(fd, chunks, at, wrote as never)
      },
    },
  })
}

/** Replaces `createWriteStream` in all modules of the process. */
function writeWith(writer: typeof createWriteStream): void {
  fs.createWriteStream = writer
  syncBuiltinESMExports()
}

const { createWriteStream } = fs
const dataDir = mkdtempSync(join(tmpdir(), 'crier-full-'))
const stored = join(dataDir, 'storage')
mkdirSync(stored)
const mounted = mount(stored)
let app: App
let world: World

beforeAll(async () => {
  writeWith(limitedWriteStream)
  app = await startApp({ dataDir })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
})
afterAll(async () => {
  writeWith(createWriteStream)
  await app?.stop()
  if (mounted) execFileSync('umount', ['--lazy', stored])
  rmSync(dataDir, { recursive: true, force: true })
})

/** Mounts a disk of 8 MB, if the tests have the right to. */
function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function video(size: number): Buffer<ArrayBuffer> {
  return Buffer.concat([mp4Head(size), randomBytes(size)])
}

const add = (content: Buffer<ArrayBuffer>) =>
  world
    .as('ada')
    .call('POST /api/assets/upload', { body: { workspaceId: world.id('acme') }, file: { name: 'v.mp4', content } })

const read = async (route: string) =>
  (await world.as('ada').call(route, { query: { workspaceId: world.id('acme') } })).body.data

function files(): string[] {
  return readdirSync(stored, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

/** Expects that files, storage usage and assets are unchanged. */
async function expectUnchanged(before: { files: string[]; use: unknown; assets: unknown }): Promise<void> {
  expect(files()).toEqual(before.files)
  expect(await read('GET /api/assets/storage')).toEqual(before.use)
  expect(await read('GET /api/assets')).toEqual(before.assets)
}

const currentState = async () => ({
  files: files(),
  use: await read('GET /api/assets/storage'),
  assets: await read('GET /api/assets'),
})

test('a write that fails because the disk is full leaves no files', async () => {
  const before = await currentState()
  room = MB
  const reply = await add(video(2 * MB))
  expect([reply.status, reply.body.code], reply.text).toEqual([507, 'storage_full'])
  room = Infinity
  await expectUnchanged(before)
  expect((await add(video(1_000))).status).toBe(201)
})

describe.runIf(mounted)('a disk of 8 MB', () => {
  test('leaves nothing when an upload in one request fills it', async () => {
    const before = await currentState()
    const reply = await add(video(12 * MB))
    expect([reply.status, reply.body.code], reply.text).toEqual([507, 'storage_full'])
    await expectUnchanged(before)
    expect((await add(video(1_000))).status).toBe(201)
  })

  test('keeps earlier pieces when a piece fills it, and the upload continues when space is free', async () => {
    const content = video(5 * MB)
    const body = { workspaceId: world.id('acme'), name: 'v.mp4', type: 'video/mp4', size: content.length }
    const opened = await world.as('ada').call('POST /api/assets/signed-upload', { body })
    const { uploadId, url } = opened.body.data
    const send = async (start: number, end: number) => {
      const headers = { 'Content-Range': `bytes ${start}-${end - 1}/${content.length}` }
      const reply = await fetch(url, { method: 'PUT', headers, body: content.subarray(start, end) })
      const { code, data } = (await reply.json()) as { code?: string; data?: { received: number; state: string } }
      return { status: reply.status, code, ...data }
    }
    expect(await send(0, MB)).toMatchObject({ status: 200, received: MB })
    const ballast = join(stored, 'ballast')
    await writeFile(ballast, Buffer.alloc(5 * MB))
    expect(await send(MB, content.length)).toMatchObject({ status: 507, code: 'storage_full' })
    const found = await world.as('ada').call('GET /api/uploads/{uploadId}', { path: { uploadId } })
    expect(found.body.data).toMatchObject({ received: MB, state: 'open' })
    rmSync(ballast)
    expect(await send(MB, content.length)).toMatchObject({ status: 200, state: 'received', received: content.length })
    const confirm = 'POST /api/assets/signed-upload/{uploadId}/confirm'
    expect((await world.as('ada').call(confirm, { path: { uploadId } })).body.data.size).toBe(content.length)
  })
})
