import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { DAY, systemClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { startBucket, type Bucket } from '../support/s3.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Renditions with files on disk, served by the API, and with files in a bucket. */

const LONG = { timeoutMs: 90_000 }
const run = promisify(execFile)

describe.each(['disk', 's3'])('on %s', (kind) => {
  let bucket: Bucket | undefined
  let app: App
  let world: World
  let id: string
  /** Milliseconds by which the clock of the app is ahead. */
  let ahead = 0

  beforeAll(async () => {
    bucket = kind === 's3' ? await startBucket() : undefined
    const clock = { ...systemClock, now: () => systemClock.now() + ahead }
    const env = { ...bucket?.env, MEDIA_PREVIEW_SECONDS: '5' }
    app = await startApp({ clock, env, jobTimes: { schedulesAfterMs: 3_600_000 } })
    world = new World(app)
    await world.user('ada', { plan: 'business' })
    await world.workspace('acme', 'ada')
    const clip = join(app.dataDir, 'clip')
    const picture = ['-f', 'lavfi', '-i', 'testsrc=size=160x90:rate=5:duration=6']
    const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=6']
    const coded = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mp4']
    await runFfmpeg(...picture, ...tone, ...coded, clip)
    const file = { name: 'clip.mp4', content: new Uint8Array(await readFile(clip)) }
    const body = { workspaceId: world.id('acme') }
    const reply = await world.as('ada').call('POST /api/assets/upload', { body, file })
    expect(reply.status, reply.text).toBe(201)
    id = reply.body.data._id
  })
  afterAll(async () => {
    await app?.stop()
    await bucket?.stop()
  })

  const asset = async () => (await world.as('ada').call('GET /api/assets/{id}', { path: { id } })).body.data
  const ended = (name: string) =>
    waitFor(
      async () => {
        const { renditions } = await asset()
        const found = renditions.find((one: { name: string }) => one.name === name)
        return found === undefined || found.status === 'pending' ? undefined : found
      },
      { ...LONG, what: `the rendition ${name}` },
    )
  const usage = async () =>
    (await world.as('ada').call('GET /api/assets/storage', { query: { workspaceId: world.id('acme') } })).body.data
  async function keys(): Promise<string[]> {
    const found: string[] = []
    for await (const { key } of app.composition.services.storage.list()) found.push(key)
    return found
  }
  const keysOf = async (rendition: string) => (await keys()).filter((key) => key.includes(rendition)).length

  test('makes a preview of a long video, which plays with its signed URL alone', async () => {
    const made = await ended('preview')
    expect(made).toMatchObject({ status: 'ready', type: 'application/vnd.apple.mpegurl', width: 160, height: 90 })
    const url = app.url + made.signedUrl
    const playlist = await fetch(url)
    expect([playlist.status, playlist.headers.get('content-type')]).toEqual([200, made.type])
    expect(playlist.headers.get('content-disposition')).toContain('clip.preview.m3u8')
    const text = await playlist.text()
    expect(text).toMatch(/^#EXTM3U\n[^]*#EXT-X-ENDLIST\n$/)
    const unchanged = await fetch(url, { headers: { 'If-None-Match': playlist.headers.get('etag') ?? '' } })
    expect(unchanged.status).toBe(304)
    expect(await (await fetch(url, { headers: { Range: 'bytes=1-6' } })).text()).toBe('EXTM3U')

    const segments = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(segments).toHaveLength(2)
    const media = new URL(segments[0] ?? '', url)
    const segment = await fetch(media, { headers: { Range: 'bytes=188-190' } })
    // Every packet of a transport stream begins with this sync byte.
    expect([segment.status, (await segment.text())[0], segment.headers.get('content-type')]).toEqual([
      206,
      'G',
      'video/mp2t',
    ])
    media.searchParams.set('expires', '9999999999')
    expect((await fetch(media)).status).toBe(401)

    const probed = await run('ffprobe', ['-v', 'error', '-show_format', '-show_streams', '-of', 'json', url])
    const { format, streams } = JSON.parse(probed.stdout)
    expect(Number(format.duration)).toBeCloseTo(6, 0)
    expect(streams.map((stream: { codec_name: string }) => stream.codec_name)).toEqual(['h264', 'aac'])
    // Seek into the second segment, as a viewer who skips.
    const frames = ['-v', 'error', '-ss', '4.5', '-i', url, '-map', '0:v', '-f', 'framehash', '-']
    expect((await run('ffmpeg', frames)).stdout.split('\n').filter((line) => /^\d/.test(line)).length).toBeGreaterThan(
      3,
    )
  })

  test('counts renditions against the plan, serves them, and deletes all their files', async () => {
    const preview = await ended('preview')
    const path = { id }
    const body = { preset: 'square', crf: 40, trim: { to: 1 } }
    expect((await world.as('ada').call('POST /api/assets/{id}/renditions', { path, body })).status).toBe(202)
    const square = await ended('square')
    expect(square).toMatchObject({ status: 'ready', type: 'video/mp4', width: 90, height: 90 })
    const part = await fetch(app.url + square.signedUrl, { headers: { Range: 'bytes=4-7' } })
    expect([part.status, await part.text()]).toEqual([206, 'ftyp'])
    const { byKind, quota } = await usage()
    expect(byKind.renditions).toBe(preview.size + square.size)
    expect(quota.held).toBe(0)

    // The sweep deletes files without references, but not those of renditions.
    ahead += 2 * DAY
    await app.composition.services.assets.housekeeping.sweep()
    expect([await keysOf(preview._id), await keysOf(square._id)]).toEqual([2, 1])
    const query = { rendition: preview._id }
    expect((await world.as('ada').call('DELETE /api/assets/{id}', { path, query })).status).toBe(200)
    await waitFor(async () => (await keysOf(preview._id)) === 0, { what: 'the files of the preview to be gone' })
    expect((await usage()).byKind.renditions).toBe(square.size)
    expect((await fetch(app.url + preview.url, { headers: { 'X-API-Key': world.key('ada') } })).status).toBe(404)

    const again = { preset: 'preview' }
    expect((await world.as('ada').call('POST /api/assets/{id}/renditions', { path, body: again })).status).toBe(202)
    await ended('preview')
    expect((await world.as('ada').call('DELETE /api/assets/{id}', { path })).status).toBe(200)
    expect((await usage()).quota.used).toBe(0)
    ahead += 31 * DAY
    await app.composition.services.assets.housekeeping.emptyBin()
    expect(await keys()).toEqual([])
  })
})
