import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { useFfmpeg } from '../testing/ffmpeg.ts'
import { hashOf, startScene, type Scene } from '../testing/node-fixture.ts'
import { startSink, type SinkMessage } from '../testing/sink.ts'
import { WhipClient } from '../testing/whip-client.ts'
import { makeWhipMedia, type WhipMedia } from '../testing/whip-media.ts'

/** Browsers change the size of their picture while they publish; destinations see one size. */

let scene: Scene
let films: { wide: WhipMedia; small: WhipMedia; upright: WhipMedia }
const keyHash = hashOf('the token')

/** Media runs in real time, beside whatever else the machine does. */
const PATIENT = { timeoutMs: 30_000 }

beforeAll(async () => {
  const [wide, small, upright] = await Promise.all([
    makeWhipMedia(),
    makeWhipMedia({ size: '320x180', kilobits: 300 }),
    makeWhipMedia({ size: '360x640' }),
  ])
  films = { wide, small, upright }
  const whip = { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() }
  scene = await startScene([await startSink({ keepMedia: true })], { holdMs: 10_000 }, { whip })
  scene.change({ whipHash: keyHash })
})
afterAll(() => scene?.close())

/** Ends what a failed try left on the air: a second one would be told that the key is in use. */
let end = async () => {}
afterEach(() => end())

async function publish(media: WhipMedia) {
  const client = new WhipClient({ media })
  const { path } = scene.stream
  const asked = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp: await client.offer() }
  const reply = await scene.node.whip({ type: 'offer', ...asked })
  if (!reply.ok || reply.session === undefined) throw new Error(`not taken: ${JSON.stringify(reply)}`)
  const { session } = reply
  client.accept(reply.sdp)
  client.start()
  end = async () => {
    end = async () => {}
    await scene.node.whip({ type: 'delete', path, keyHash, session })
    client.close()
  }
  await more(20)
  return { client, session }
}

const frames = (kind: 'audio' | 'video'): SinkMessage[] =>
  scene.sinks[0]!.messages(kind).filter(({ isHeader }) => !isHeader)

/** Waits for so many more pictures at the destination. */
async function more(count: number): Promise<void> {
  const before = frames('video').length
  await waitFor(() => frames('video').length >= before + count, PATIENT)
}

const ingest = () => scene.node.status().streams[0]?.ingest ?? null

interface Decoded {
  readonly media_type: 'audio' | 'video'
  readonly width?: number
  readonly height?: number
  readonly pts_time: string
}

/** Every picture and every frame of sound, as a decoder makes them of what has arrived. */
async function decode(): Promise<{ frames: Decoded[]; said: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-sizes-'))
  try {
    const file = join(folder, 'film.flv')
    await writeFile(file, scene.sinks[0]!.last()!.film())
    const what = ['-show_entries', 'frame=media_type,width,height,pts_time', '-of', 'json']
    const { stderr, stdout } = await promisify(execFile)('ffprobe', ['-v', 'error', ...what, file])
    return { frames: (JSON.parse(stdout) as { frames: Decoded[] }).frames, said: stderr }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function longestStep(decoded: readonly Decoded[], kind: Decoded['media_type']): number {
  const times = decoded.filter(({ media_type }) => media_type === kind).map(({ pts_time }) => Number(pts_time))
  return Math.max(...times.slice(1).map((time, index) => time - times[index]!))
}

test('smaller, upright, as it was, and after a reload: one size at the destination, without a gap', async () => {
  const first = await publish(films.wide)
  // The figures come a beat after the pictures.
  await waitFor(() => ingest()?.width, PATIENT)
  expect(ingest()).toMatchObject({ width: 640, height: 360, warnings: [] })
  for (const film of [films.small, films.upright, films.wide]) {
    first.client.show(film)
    await more(30)
  }
  expect(ingest()).toMatchObject({ sessionId: first.session, width: 640, height: 360 })
  const warning = () => ingest()?.warnings.find(({ code }) => code === 'resolution_changed')?.message
  expect(await waitFor(warning, PATIENT)).toBe('The picture is received as 360×640 and re-encoded as 640×360.')
  const { frames: decoded, said } = await decode()
  expect(said).toBe('')
  const sizes = new Set(decoded.flatMap(({ height, width }) => (width === undefined ? [] : `${width}×${height}`)))
  expect([...sizes]).toEqual(['640×360'])
  expect(longestStep(decoded, 'video')).toBeLessThan(0.2)
  expect(longestStep(decoded, 'audio')).toBeLessThan(0.1)
  await end()

  // The page is loaded again, with a smaller picture: the destination has been kept.
  const second = await publish(films.small)
  await waitFor(() => ingest()?.sessionId === second.session && ingest()?.width, PATIENT)
  expect(ingest()).toMatchObject({ sessionId: second.session, width: 640, height: 360 })
  await end()
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  const again = await decode()
  expect(new Set(again.frames.flatMap(({ width }) => width ?? []))).toEqual(new Set([640]))
})
