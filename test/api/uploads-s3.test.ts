import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { mp4Head } from '../support/mp4.ts'
import { startBucket, type Bucket } from '../support/s3.ts'
import { World } from '../support/world.ts'

/** Signed uploads with files in a bucket: in pieces through the API, and directly to the bucket. */

/** Starts at the real time, because the bucket uses the system clock. */
const clock = new ManualClock(Date.now())
let bucket: Bucket
let app: App
let world: World

beforeAll(async () => {
  bucket = await startBucket()
  app = await startApp({ clock, env: bucket.env })
  world = new World(app)
  await world.workspace('acme', 'ada')
})
afterAll(async () => {
  await app?.stop()
  await bucket?.stop()
})

function video(size: number): Buffer<ArrayBuffer> {
  return Buffer.concat([mp4Head(size), randomBytes(size)])
}

async function open(route: string, content: Buffer, withChecksum = true) {
  const checksum = withChecksum ? createHash('sha256').update(content).digest('hex') : undefined
  const body = { workspaceId: world.id('acme'), name: 'v.mp4', type: 'video/mp4', size: content.length, checksum }
  const reply = await world.as('ada').call(route, { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as { uploadId: string; url: string; headers: Record<string, string>; resumable: boolean }
}

const upload = (route: string, uploadId: string) => world.as('ada').call(route, { path: { uploadId } })

/** Downloads an asset by the redirect to a signed bucket URL. */
async function download(url: string): Promise<Buffer> {
  const reply = await fetch(app.url + url, { headers: { 'X-API-Key': world.key('ada') }, redirect: 'manual' })
  expect(reply.status).toBe(302)
  const location = reply.headers.get('location') ?? ''
  expect(location.startsWith(bucket.url)).toBe(true)
  return Buffer.from(await (await fetch(location)).arrayBuffer())
}

/** Fetches a range like the `src` of a video: without a credential, following redirects. */
async function play(url: string, range: string): Promise<[number, string]> {
  const reply = await fetch(app.url + url, { headers: { Range: range } })
  return [reply.status, await reply.text()]
}

async function keys(): Promise<string[]> {
  const found: string[] = []
  for await (const { key } of app.composition.services.storage.list()) found.push(key)
  return found
}

test('an upload in pieces adds an asset and leaves no pieces in the bucket', async () => {
  const content = video(300_000)
  const { resumable, uploadId, url } = await open('POST /api/assets/signed-upload', content)
  expect([resumable, url.startsWith(app.url)]).toEqual([true, true])
  const ends = [100_000, 250_000, content.length]
  for (const [index, end] of ends.entries()) {
    const start = ends[index - 1] ?? 0
    const headers = { 'Content-Range': `bytes ${start}-${end - 1}/${content.length}` }
    const reply = await fetch(url, { method: 'PUT', headers, body: content.subarray(start, end) })
    const { data } = (await reply.json()) as { data: { received: number } }
    expect([reply.status, data.received]).toEqual([200, end])
    expect((await upload('GET /api/uploads/{uploadId}', uploadId)).body.data.received).toBe(end)
  }
  const confirmed = await upload('POST /api/assets/signed-upload/{uploadId}/confirm', uploadId)
  expect(confirmed.status, confirmed.text).toBe(201)
  expect((await download(confirmed.body.data.url)).equals(content)).toBe(true)
  expect(await play(confirmed.body.data.signedUrl, 'bytes=4-7')).toEqual([206, 'ftyp'])
  expect((await keys()).filter((key) => key.includes(uploadId) || key.includes('piece'))).toEqual([])
})

test('an upload to the bucket adds an asset, and its URL is signed for size, type and checksum', async () => {
  const content = video(50_000)
  const { headers, resumable, uploadId, url } = await open('POST /api/uploads/signed-url', content)
  expect([resumable, url.startsWith(bucket.url)]).toEqual([false, true])
  expect((await upload('POST /api/uploads/{uploadId}/complete', uploadId)).status).toBe(409)
  const { 'Content-Length': size, ...sent } = headers
  expect(size).toBe(String(content.length))
  // The test bucket ignores signed headers. A real one refuses requests that change them.
  expect(new URL(url).searchParams.get('X-Amz-SignedHeaders')).toBe(
    'content-length;content-type;host;x-amz-checksum-sha256',
  )
  const sentReply = await fetch(url, { method: 'PUT', headers: sent, body: content })
  expect(sentReply.status, await sentReply.text()).toBe(200)
  const completed = await upload('POST /api/uploads/{uploadId}/complete', uploadId)
  expect([completed.status, completed.body.data?.size], completed.text).toEqual([201, content.length])
  expect((await download(completed.body.data.url)).equals(content)).toBe(true)
  const again = await upload('POST /api/uploads/{uploadId}/complete', uploadId)
  expect(again.body.data._id).toBe(completed.body.data._id)
})

test('bytes sent to the URL after completion do not replace the inspected file', async () => {
  const content = video(5_000)
  const { headers, uploadId, url } = await open('POST /api/uploads/signed-url', content, false)
  const { 'Content-Length': _, ...sent } = headers
  const send = async (body: Buffer<ArrayBuffer>) => (await fetch(url, { method: 'PUT', headers: sent, body })).text()
  await send(content)
  const completed = await upload('POST /api/uploads/{uploadId}/complete', uploadId)
  expect(completed.status, completed.text).toBe(201)
  await send(randomBytes(content.length))
  expect((await download(completed.body.data.url)).equals(content)).toBe(true)
  // The late bytes are deleted with the upload.
  await upload('DELETE /api/uploads/{uploadId}', uploadId)
  expect((await keys()).filter((key) => key.includes(uploadId))).toEqual([])
  expect((await download(completed.body.data.url)).equals(content)).toBe(true)
})

test('an upload to the bucket with other content than announced is refused and deleted', async () => {
  const content = video(50_000)
  const { headers, uploadId, url } = await open('POST /api/uploads/signed-url', content)
  const other = video(50_000)
  const { 'Content-Length': _, ...sent } = headers
  // The bucket may check the checksum or not. Crier checks it in any case.
  const sentReply = await fetch(url, { method: 'PUT', headers: sent, body: other })
  await sentReply.text()
  const completed = await upload('POST /api/uploads/{uploadId}/complete', uploadId)
  expect([completed.status, completed.body.code]).toEqual([409, sentReply.ok ? 'upload_mismatch' : 'conflict'])
  expect((await keys()).filter((key) => key.includes(uploadId))).toEqual([])
})

test('the sweep deletes pieces of unfinished uploads and keeps assets', async () => {
  const content = video(1_000)
  const { uploadId } = await open('POST /api/assets/signed-upload', content)
  const body = { workspaceId: world.id('acme') }
  const kept = await world.as('ada').call('POST /api/assets/upload', { body, file: { name: 'k.mp4', content } })
  expect(kept.status, kept.text).toBe(201)
  const before = await keys()
  const { assets, storage } = app.composition.services
  await storage.pieces.append(uploadId, 0, Readable.from([content.subarray(0, 500)]))
  // Delete the row, so that the database does not know the pieces in the bucket.
  await app.database.run('delete from uploads where id = $1', [uploadId])
  expect(await keys()).toHaveLength(before.length + 1)
  clock.advance(2 * DAY)
  await assets.housekeeping.sweep()
  expect((await keys()).toSorted()).toEqual(before.toSorted())
})
