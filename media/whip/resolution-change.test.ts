import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { useFfmpeg } from '../testing/ffmpeg.ts'
import { hashOf, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink, type SinkMessage } from '../testing/sink.ts'
import { WhipClient } from '../testing/whip-client.ts'
import { makeWhipMedia, type WhipMedia } from '../testing/whip-media.ts'

/** Browsers change the size of their video while they publish. Destinations receive one size. */

let scene: NodeWithSinks
let sources: { landscape: WhipMedia; small: WhipMedia; portrait: WhipMedia }
const keyHash = hashOf('the token')

/** Media is sent in real time, also on a busy machine. */

beforeAll(async () => {
  const [landscape, small, portrait] = await Promise.all([
    makeWhipMedia(),
    makeWhipMedia({ size: '320x180', kilobits: 300 }),
    makeWhipMedia({ size: '360x640' }),
  ])
  sources = { landscape, small, portrait }
  const whip = { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() }
  scene = await startNodeWithSinks([await startSink({ keepMedia: true })], { holdMs: 10_000 }, { whip })
  scene.change({ whipHash: keyHash })
})
afterAll(() => scene?.close())

/** Ends the session. After a failed attempt, the retry would be refused otherwise, because the key is in use. */
let endSession = async () => {}
afterEach(() => endSession())

async function publish(media: WhipMedia) {
  const client = new WhipClient({ media })
  const { path } = scene.stream
  const request = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp: await client.offer() }
  const reply = await scene.node.whip({ type: 'offer', ...request })
  if (!reply.ok || reply.session === undefined) throw new Error(`refused: ${JSON.stringify(reply)}`)
  const { session } = reply
  client.accept(reply.sdp)
  client.start()
  endSession = async () => {
    endSession = async () => {}
    await scene.node.whip({ type: 'delete', path, keyHash, session })
    client.close()
  }
  await moreFrames(20)
  return { client, session }
}

const frames = (kind: 'audio' | 'video'): SinkMessage[] =>
  scene.sinks[0]!.messages(kind).filter(({ isSequenceHeader }) => !isSequenceHeader)

/** Waits for this many further frames at the destination. */
async function moreFrames(count: number): Promise<void> {
  const before = frames('video').length
  await waitFor(() => frames('video').length >= before + count)
}

const ingest = () => scene.node.status().streams[0]?.ingest ?? null

interface DecodedFrame {
  readonly media_type: 'audio' | 'video'
  readonly width?: number
  readonly height?: number
  readonly pts_time: string
}

/** Decodes what the destination has received: all video and audio frames, and the errors of the decoder. */
async function decode(): Promise<{ frames: DecodedFrame[]; stderr: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-sizes-'))
  try {
    const file = join(folder, 'received.flv')
    await writeFile(file, scene.sinks[0]!.last()!.toFlv())
    const output = ['-show_entries', 'frame=media_type,width,height,pts_time', '-of', 'json']
    const { stderr, stdout } = await promisify(execFile)('ffprobe', ['-v', 'error', ...output, file])
    return { frames: (JSON.parse(stdout) as { frames: DecodedFrame[] }).frames, stderr }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Longest distance between consecutive frames, in seconds. */
function maxStep(decoded: readonly DecodedFrame[], kind: DecodedFrame['media_type']): number {
  const times = decoded.filter(({ media_type }) => media_type === kind).map(({ pts_time }) => Number(pts_time))
  return Math.max(...times.slice(1).map((time, index) => time - times[index]!))
}

test('sends one size without a gap while the client changes its size, and after it reconnects', async () => {
  const first = await publish(sources.landscape)
  // The status is updated after the first frames.
  await waitFor(() => ingest()?.width)
  expect(ingest()).toMatchObject({ width: 640, height: 360, warnings: [] })
  for (const media of [sources.small, sources.portrait, sources.landscape]) {
    first.client.show(media)
    await moreFrames(30)
  }
  expect(ingest()).toMatchObject({ sessionId: first.session, width: 640, height: 360 })
  const warning = () => ingest()?.warnings.find(({ code }) => code === 'resolution_changed')?.message
  expect(await waitFor(warning)).toBe('The video is received as 360×640 and re-encoded as 640×360.')
  const { frames: decoded, stderr } = await decode()
  expect(stderr).toBe('')
  const sizes = new Set(decoded.flatMap(({ height, width }) => (width === undefined ? [] : `${width}×${height}`)))
  expect([...sizes]).toEqual(['640×360'])
  expect(maxStep(decoded, 'video')).toBeLessThan(0.2)
  expect(maxStep(decoded, 'audio')).toBeLessThan(0.1)
  await endSession()

  // The client reconnects with a smaller size during the hold. The destination's connection is kept.
  const second = await publish(sources.small)
  await waitFor(() => ingest()?.sessionId === second.session && ingest()?.width)
  expect(ingest()).toMatchObject({ sessionId: second.session, width: 640, height: 360 })
  await endSession()
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  const { frames: all } = await decode()
  expect(new Set(all.flatMap(({ width }) => width ?? []))).toEqual(new Set([640]))
})
