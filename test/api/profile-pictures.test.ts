import { readdirSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

/** Profile pictures: cropped to squares, shown with their user, and deleted when they are replaced. */

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'))
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob')
})
afterAll(() => app?.stop())

const bytes = (buffer: Buffer) => new Uint8Array(buffer)

/** 40 × 20 pixels, red on the left and blue on the right. Stored upside down, with EXIF orientation and location. */
async function photo() {
  const blue = await sharp({ create: { width: 20, height: 20, channels: 3, background: 'blue' } })
    .png()
    .toBuffer()
  const upright = sharp({ create: { width: 40, height: 20, channels: 3, background: 'red' } })
    .composite([{ input: blue, left: 20, top: 0 }])
    .png()
  return bytes(
    await sharp(await upright.toBuffer())
      .rotate(180)
      .withExif({ IFD0: { Make: 'SecretCam' }, IFD3: { GPSLatitude: '52/1 31/1 0/1', GPSLatitudeRef: 'N' } })
      .withMetadata({ orientation: 3 })
      .jpeg({ quality: 95 })
      .toBuffer(),
  )
}

const send = (content: Uint8Array<ArrayBuffer>, name = 'me.jpg', as = 'ada') =>
  world.as(as).call('POST /api/users/me/picture', { file: { name, content } })
const me = async (as = 'ada') => (await world.as(as).call('GET /api/users/me')).body.data
const files = () =>
  readdirSync(join(app.dataDir, 'storage'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
const scratch = () => readdirSync(join(app.dataDir, 'work')).filter((name) => name.startsWith('picture-'))

test('makes three squares without metadata, shown with their user', async () => {
  const before = (await me()).version
  const reply = await send(await photo())
  expect(reply.status, reply.text).toBe(201)
  const { pictureUrl, sizes } = reply.body.data
  expect(sizes.map((size: { name: string; width: number }) => [size.name, size.width])).toEqual([
    ['small', 64],
    ['medium', 256],
    ['large', 512],
  ])
  for (const { url, width } of sizes) {
    const shown = await fetch(app.url + url)
    expect(shown.status).toBe(200)
    expect(Object.fromEntries(shown.headers)).toMatchObject({
      'content-type': 'image/webp',
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=86400, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
    })
    const content = Buffer.from(await shown.arrayBuffer())
    const meta = await sharp(content).metadata()
    expect([meta.format, meta.width, meta.height, meta.exif, meta.orientation]).toEqual([
      'webp',
      width,
      width,
      undefined,
      undefined,
    ])
    expect(content.includes('SecretCam')).toBe(false)
    const known = await fetch(app.url + url, { headers: { 'If-None-Match': shown.headers.get('etag') ?? '' } })
    expect(known.status).toBe(304)
  }
  const { data } = await sharp(Buffer.from(await (await fetch(app.url + sizes[1].url)).arrayBuffer()))
    .raw()
    .toBuffer({ resolveWithObject: true })
  const [red = 0, , blue = 0] = data.subarray(128 * 256 * 3 + 30, 128 * 256 * 3 + 33)
  expect(red, 'the left is red if the EXIF orientation was applied').toBeGreaterThan(blue)
  expect(await me()).toMatchObject({ pictureUrl, version: before + 1 })
  const path = { workspaceId: world.id('acme') }
  const members = await world.as('bob').call('GET /api/team/{workspaceId}/members', { path })
  const shown = (members.body.data as { _id: string; pictureUrl: string | null }[]).map((row) => row.pictureUrl)
  expect(new Set(shown)).toEqual(new Set([pictureUrl, null]))
})

test('deletes the files of replaced and removed pictures', async () => {
  await send(await photo())
  const old = (await me()).pictureUrl
  expect(files()).toHaveLength(3)
  await send(await photo(), 'other.jpg')
  const { pictureUrl } = await me()
  expect(pictureUrl).not.toBe(old)
  expect([(await fetch(app.url + old)).status, (await fetch(app.url + pictureUrl)).status]).toEqual([404, 200])
  expect(files()).toHaveLength(3)
  for (let count = 0; count < 2; count += 1) {
    expect((await world.as('ada').call('DELETE /api/users/me/picture')).status).toBe(200)
  }
  expect((await fetch(app.url + pictureUrl)).status).toBe(404)
  expect([(await me()).pictureUrl, files(), scratch()]).toEqual([undefined, [], []])
})

test('keeps one picture after concurrent uploads', async () => {
  const content = await photo()
  const replies = await Promise.all([send(content), send(content)])
  expect(replies.map((reply) => reply.status)).toEqual([201, 201])
  const shown = (await me()).pictureUrl
  expect(replies.map((reply) => reply.body.data.pictureUrl)).toContain(shown)
  expect(files()).toHaveLength(3)
})

test('refuses hostile files and those that are not pictures, and keeps the old picture', async () => {
  await send(await photo())
  const { pictureUrl, version } = await me()
  const jpeg = await photo()
  const huge = bytes(
    await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .png()
      .toBuffer(),
  )
  new DataView(huge.buffer).setUint32(16, 30_000)
  new DataView(huge.buffer).setUint32(20, 30_000)
  const text = (value: string) => bytes(Buffer.from(value))
  for (const [content, status, code] of [
    [text('hello'), 415, 'unsupported_file'],
    [text('<svg xmlns="http://www.w3.org/2000/svg"/>'), 415, 'unsupported_file'],
    [text('%PDF-1.7\n%%EOF'), 415, 'unsupported_file'],
    [bytes(Buffer.concat([jpeg, Buffer.from('<script>1</script>')])), 415, 'unsafe_file'],
    [jpeg.slice(0, jpeg.length - 2), 415, 'damaged_file'],
    [huge, 413, 'image_too_large'],
    [new Uint8Array(0), 400, 'empty_file'],
    [new Uint8Array(9_000_000), 413, 'payload_too_large'],
  ] as const) {
    const reply = await send(content, 'picture')
    expect([reply.status, reply.body.code], reply.text).toEqual([status, code])
  }
  // The header is valid, but the image data is not.
  const broken = jpeg.map((byte, index) => (index > jpeg.length / 2 && index < jpeg.length - 2 ? 0xff : byte))
  expect([201, 415]).toContain((await send(broken, 'picture', 'bob')).status)
  expect(await me()).toMatchObject({ pictureUrl, version })
  expect([(await fetch(app.url + pictureUrl)).status, scratch()]).toEqual([200, []])
})

test('the sweep keeps pictures in use and deletes the others', async () => {
  const reply = await send(await photo())
  expect(reply.status).toBe(201)
  await send(await photo(), 'mine.jpg', 'bob')
  const kept = files().filter((path) => path.includes(world.id('ada')))
  await app.database.run('update users set picture_id = null where id = $1', [world.id('bob')])
  for (const path of files()) await utimes(path, clock.now() / 1000, clock.now() / 1000)
  clock.advance(2 * DAY)
  await app.composition.services.assets.housekeeping.sweep()
  expect(files()).toEqual(kept)
})
