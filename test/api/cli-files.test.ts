import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/sdk/client.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

/** Uploads and downloads with the command line and the typed client. */

const CLI = fileURLToPath(new URL('../../src/cli/cli.mjs', import.meta.url))

let app: App
let world: World
let workspaceId: string
let home: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'crier-cli-'))
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  workspaceId = await world.workspace('acme', 'ada')
})
afterAll(async () => {
  await app?.stop()
  await rm(home, { recursive: true, force: true })
})

interface Ended {
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: string
}

function crier(...args: string[]): Promise<Ended> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: home, CRIER_URL: app.url }
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...env, CRIER_API_KEY: world.key('ada') } })
  const stdout: Buffer[] = []
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => void stdout.push(chunk))
  child.stderr.on('data', (chunk) => void (stderr += String(chunk)))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout: Buffer.concat(stdout), stderr }))
  })
}

/** A WAV file of noise, of any size. */
function sound(bytes: number): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF')
  head.writeUInt32LE(bytes - 8, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(48_000, 24)
  head.writeUInt32LE(96_000, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(bytes - 44, 40)
  return Buffer.concat([head, randomBytes(bytes - 44)])
}

test('uploads a file with its fields, and downloads identical bytes', async () => {
  const [path, copy] = [join(home, 'größe.wav'), join(home, 'copy.wav')]
  const content = sound(3_000_000)
  await writeFile(path, content)
  const upload = ['assets', 'upload', '--workspace-id', workspaceId, '--tags', 'a', '--tags', 'b']
  const sent = await crier(...upload, '--file', path, '--json', '--progress')
  expect([sent.code, sent.stderr.includes('crier:')]).toEqual([0, false])
  const { data } = JSON.parse(sent.stdout.toString())
  expect(data).toMatchObject({ name: 'größe.wav', size: content.length, tags: ['a', 'b'], type: 'audio/wav' })
  const progressReports = sent.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).progress)
  expect(progressReports.at(-1)).toEqual({ done: content.length, total: content.length })
  expect(progressReports.length).toBeGreaterThan(3)

  const got = await crier('assets', 'download', data._id, '--output', copy, '--progress')
  expect([got.code, got.stdout.length]).toEqual([0, 0])
  expect(got.stderr).toMatch(/100 % of 3\.0 MB\n$/)
  expect((await readFile(copy)).equals(content)).toBe(true)
  const piped = await crier('assets', 'download', data._id)
  expect([piped.code, piped.stderr, piped.stdout.equals(content)]).toEqual([0, '', true])
})

test('reports errors of uploads and downloads, and leaves no partial files', async () => {
  const upload = ['assets', 'upload', '--workspace-id', workspaceId]
  expect(await crier(...upload)).toMatchObject({ code: 2, stderr: expect.stringContaining('missing --file') })
  const away = await crier(...upload, '--file', join(home, 'nothing.png'))
  expect([away.code, away.stderr]).toEqual([2, expect.stringContaining('cannot read')])
  await writeFile(join(home, 'text.png'), 'only text')
  const refused = await crier(...upload, '--file', join(home, 'text.png'))
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('(unsupported_file)')])
  const id = '01890000-0000-7000-8000-000000000000'
  const missing = await crier('assets', 'download', id, '--output', join(home, 'never'))
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('(not_found)')])
  await writeFile(join(home, 'pixel.png'), PIXEL)
  const { data } = JSON.parse((await crier(...upload, '--file', join(home, 'pixel.png'), '--json')).stdout.toString())
  const nowhere = await crier('assets', 'download', data._id, '--output', join(home, 'no', 'folder'))
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('cannot write')])
  expect((await readdir(home)).filter((name) => name.includes('never') || name.endsWith('.part'))).toEqual([])
})

test('uploads in pieces by a signed URL and streams a download with the typed client', async () => {
  const client = createClient({ url: app.url, apiKey: world.key('ada') })
  const content = sound(400_000)
  const size = content.length
  const { body } = await client('POST /api/assets/signed-upload', {
    body: { workspaceId, name: 'a.wav', size, type: 'audio/wav' },
  })
  const { uploadId, url } = body.data
  const { searchParams } = new URL(url)
  const query = { expires: Number(searchParams.get('expires')), signature: searchParams.get('signature') ?? '' }
  const steps: number[] = []
  for (const [from, to] of [
    [0, 150_000],
    [150_000, size],
  ] as const) {
    const put = await client('PUT /api/uploads/{uploadId}/content', {
      path: { uploadId },
      query,
      content: new Blob([content.subarray(from, to)], { type: 'audio/wav' }),
      headers: { 'Content-Range': `bytes ${from}-${to - 1}/${size}` },
      onProgress: (done) => void steps.push(from + done),
    })
    expect(put.body.data.received).toBe(to)
  }
  expect(steps.at(-1)).toBe(size)
  const asset = await client('POST /api/assets/signed-upload/{uploadId}/confirm', { path: { uploadId } })
  const path = { id: asset.body.data._id }
  const file = await client.open('GET /api/assets/{id}/file', { path, headers: { Range: 'bytes=100-199' } })
  expect([file.status, file.size, file.type]).toEqual([206, 100, 'audio/wav'])
  const part = Buffer.from(await new Response(file.body).arrayBuffer())
  expect(part.equals(content.subarray(100, 200))).toBe(true)
  await expect(client.open('GET /api/assets/{id}/file', { path: { id: uploadId } })).rejects.toMatchObject({
    status: 404,
  })
})
