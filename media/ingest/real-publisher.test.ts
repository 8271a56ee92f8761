import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { fuzz } from '../testing/fuzz.ts'
import { makeFlv, publishFlv, runFfmpeg } from '../testing/ffmpeg.ts'
import { digest, readFlv } from '../testing/flv-file.ts'
import type { PacketDigest } from '../testing/flv-file.ts'
import type { Measurement } from '../testing/ingest-child.ts'
import { newKey, startIngest } from '../testing/ingest-fixture.ts'
import { startIngestProcess } from '../testing/ingest-process.ts'
import { memoryPerUnadmittedPeer } from '../testing/unadmitted-memory.ts'

let folder: string
let file: string
const SECONDS = 12

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-ingest-'))
  file = join(folder, 'source.flv')
  await makeFlv(file, SECONDS)
})

afterAll(() => rm(folder, { recursive: true }))

/** Groups packets by track, because the interleaving may differ. */
const byTrack = (packets: readonly PacketDigest[]): PacketDigest[][] =>
  ['video', 'audio'].map((kind) => packets.filter((packet) => packet.kind === kind))

describe('ffmpeg', () => {
  test('every packet of a file is received bit for bit, with its timestamp', async () => {
    const fixture = await startIngest()
    await publishFlv(file, `rtmp://127.0.0.1:${fixture.port}/live/${newKey()}`, { realTime: false })
    const session = fixture.sessions[0]!
    await waitFor(() => session.ended !== null)
    const received = session.messages.flatMap((one) =>
      one.kind === 'data' ? [] : [digest(one.kind, one.timestamp, one.payload)],
    )
    const sent = readFlv(file)
    expect(sent.length).toBeGreaterThan(SECONDS * 60)
    expect(byTrack(received)).toEqual(byTrack(sent))
    expect(
      session.messages
        .filter((one) => one.isSequenceHeader)
        .map((one) => one.kind)
        .sort(),
    ).toEqual(['audio', 'data', 'video'])
    expect(session.messages.filter((one) => one.isKeyframe)).toHaveLength(SECONDS / 2)
    expect(session.publisher.stats()).toMatchObject({
      videoCodec: 'h264',
      audioCodec: 'aac',
      width: 640,
      height: 360,
      fps: 30,
      keyframeIntervalSeconds: 2,
    })
    await fixture.ingest.close()
  })

  test('gets the reason of a refusal', async () => {
    const fixture = await startIngest(
      {},
      { authorizePublish: async () => ({ allowed: false, reason: 'This stream was stopped.' }) },
    )
    const publishing = publishFlv(file, `rtmp://127.0.0.1:${fixture.port}/live/${newKey()}`)
    await expect(publishing).rejects.toThrow('This stream was stopped.')
    expect(fixture.sessions).toEqual([])
    await fixture.ingest.close()
  })

  test('is refused as a player', async () => {
    const fixture = await startIngest()
    const playing = runFfmpeg('-i', `rtmp://127.0.0.1:${fixture.port}/live/${newKey()}`, '-f', 'null', '-')
    await expect(playing).rejects.toThrow('publishers only')
    await fixture.ingest.close()
  })
})

test('10,000 malformed sessions cause no crash, no memory growth and no disturbance of a live stream', async () => {
  const server = await startIngestProcess(folder)
  try {
    await fuzz(server.port, 2_000, 1)
    const before = await server.ask<Measurement>({ ask: 'measure' })
    const publishing = publishFlv(file, `rtmp://127.0.0.1:${server.port}/live/${newKey('watched12345')}`)
    await fuzz(server.port, 8_000, 2)
    await publishing
    await waitFor(
      async () => (await server.ask<{ ended: string | null } | null>({ ask: 'digests', path: 'watched12345' }))?.ended,
    )
    const live = await server.ask<{ packets: PacketDigest[]; longestWorkMs: number }>({
      ask: 'digests',
      path: 'watched12345',
    })
    expect(byTrack(live.packets)).toEqual(byTrack(readFlv(file)))
    expect(live.longestWorkMs).toBeLessThan(1_000)
    await waitFor(async () => (await server.ask<Measurement>({ ask: 'measure' })).connections === 0)
    const after = await server.ask<Measurement>({ ask: 'measure' })
    expect(server.child.exitCode).toBeNull()
    expect(server.output()).toBe('')
    // The result is meaningful only if many of the malformed sessions got as far as publishing.
    expect(after.published).toBeGreaterThan(500)
    const grown = {
      heap: after.heapUsed - before.heapUsed,
      buffers: after.arrayBuffers - before.arrayBuffers,
      rss: after.rss - before.rss,
    }
    console.log('after 8,000 more sessions', grown, { published: after.published, longestWorkMs: live.longestWorkMs })
    expect(grown.heap).toBeLessThan(3_000_000)
    expect(grown.buffers).toBeLessThan(3_000_000)
    // The allocator warms up for some thousand sessions. A leak of one read buffer each would be 500 MB.
    expect(grown.rss).toBeLessThan(64_000_000)
    expect(await memoryPerUnadmittedPeer(server, 100)).toBeLessThanOrEqual(65_536)
  } finally {
    server.stop()
  }
})
