import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { encodeAmf0 } from '../rtmp/amf0.ts'
import { ChunkEncoder } from '../testing/chunk-encoder.ts'
import { newKey, startIngest } from '../testing/ingest-fixture.ts'
import type { IngestFixture } from '../testing/ingest-fixture.ts'
import { MALFORMED_INPUTS, oversizedDeclarations } from '../testing/malformed.ts'
import { avcFrame } from '../testing/media-payloads.ts'
import { TestPublisher } from '../testing/publisher.ts'

const open: TestPublisher[] = []
const fixtures: IngestFixture[] = []

function keep(publisher: TestPublisher): TestPublisher {
  open.push(publisher)
  return publisher
}

async function start(...parameters: Parameters<typeof startIngest>): Promise<IngestFixture> {
  const fixture = await startIngest(...parameters)
  fixtures.push(fixture)
  return fixture
}

afterEach(() => {
  for (const publisher of open.splice(0)) publisher.close()
})

afterAll(async () => {
  for (const fixture of fixtures) await fixture.ingest.close()
})

describe.each(['an unadmitted peer', 'a publisher'])('malformed input from %s', (who) => {
  let fixture: IngestFixture
  let live: TestPublisher
  let sent = 0

  beforeAll(async () => {
    fixture = await start()
    live = await TestPublisher.connect({ port: fixture.port })
    await live.publish(newKey())
  })

  afterAll(() => live.close())

  test.each(MALFORMED_INPUTS.map((input) => ({ ...input, toString: () => input.name })))('%s', async (input) => {
    const peer = keep(await TestPublisher.open({ port: fixture.port }))
    if (input.at === 'after') await peer.handshake()
    if (input.at === 'after' && who === 'a publisher') {
      peer.command('connect', 1, { app: 'live' })
      expect(await peer.publish(newKey())).toMatchObject({ code: 'NetStream.Publish.Start' })
    }
    peer.write(input.bytes())
    if (input.isFatal) await peer.closed
    // The live stream continues, and the server accepts new publishers.
    live.video(++sent, avcFrame(true))
    await waitFor(() => fixture.sessions[0]?.messages.length === sent)
    const next = keep(await TestPublisher.connect({ port: fixture.port }))
    expect(await next.publish(newKey())).toMatchObject({ code: 'NetStream.Publish.Start' })
    expect(fixture.sessions[0]?.ended).toBeNull()
    expect(fixture.lines.filter((line) => line.startsWith('error'))).toEqual([])
  })
})

describe('memory', () => {
  const bufferBytes = (): number => process.memoryUsage().arrayBuffers

  test('allocates almost nothing for 50 peers that declare 32 GB each', async () => {
    const fixture = await start()
    const peers = await Promise.all(Array.from({ length: 50 }, () => TestPublisher.open({ port: fixture.port })))
    for (const peer of peers) await keep(peer).handshake()
    const before = bufferBytes()
    for (const peer of peers) peer.write(oversizedDeclarations())
    await Promise.all(peers.map((peer) => peer.closed))
    expect(bufferBytes() - before).toBeLessThan(10_000_000)
  })

  test('allocates only received bytes for a publisher that declares 8 MiB on 13 chunk streams', async () => {
    const fixture = await start()
    const peer = keep(await TestPublisher.connect({ port: fixture.port }))
    await peer.publish(newKey())
    const before = bufferBytes()
    for (let id = 10; id < 23; id++) {
      const message = { type: 9, streamId: 1, chunkStreamId: id, timestamp: 0, payload: Buffer.alloc(8 * 1024 * 1024) }
      peer.write(new ChunkEncoder().chunks(message)[0]!)
    }
    peer.video(0, avcFrame(true))
    await waitFor(() => fixture.sessions[0]?.messages.length === 1)
    // The 13 payloads belong to the test. The server needs a few kilobytes.
    expect(bufferBytes() - before).toBeLessThan(13 * 8 * 1024 * 1024 + 1_000_000)
  })

  test('closes a publisher with more than 16 MiB of incomplete messages', async () => {
    const fixture = await start()
    const peer = keep(await TestPublisher.connect({ port: fixture.port }))
    await peer.publish(newKey())
    for (const chunkStreamId of [10, 11, 12]) {
      const encoder = new ChunkEncoder()
      peer.write(encoder.changeChunkSize(8_000_000))
      const payload = Buffer.alloc(8_000_001)
      peer.write(encoder.chunks({ type: 9, streamId: 1, chunkStreamId, timestamp: 0, payload })[0]!)
    }
    await peer.closed
    expect(fixture.sessions[0]?.ended).toBe('protocol error')
  })

  test('300 idle connections need a few kilobytes each and are closed by the handshake timeout', async () => {
    const fixture = await start({ handshakeTimeoutMs: 1_500, maxUnadmittedPerAddress: 1_000 })
    const before = bufferBytes()
    const peers = await Promise.all(Array.from({ length: 300 }, () => TestPublisher.open({ port: fixture.port })))
    await waitFor(() => fixture.ingest.connections() === 300)
    for (const peer of peers) keep(peer).write(Buffer.concat([Buffer.of(3), Buffer.alloc(100)]))
    expect((bufferBytes() - before) / 300).toBeLessThan(20_000)
    await waitFor(() => fixture.ingest.connections() === 0)
  })

  test('closes a peer that keeps sending without publishing', async () => {
    const fixture = await start()
    const peer = keep(await TestPublisher.connect({ port: fixture.port }))
    let sent = 0
    while (!peer.socket.destroyed && sent < 10_000_000) {
      peer.command('unheardOf', 0, 'x'.repeat(1_000))
      sent += 1_000
      await new Promise((resolve) => setImmediate(resolve))
    }
    await peer.closed
    expect(sent).toBeLessThan(10_000_000)
    expect(fixture.ingest.connections()).toBe(0)
  })

  test('closes a peer that never reads the replies', async () => {
    const fixture = await start()
    const peer = keep(await TestPublisher.connect({ port: fixture.port }))
    await peer.publish(newKey())
    peer.socket.pause()
    const pings = Buffer.concat(
      Array.from({ length: 2_000 }, () =>
        new ChunkEncoder().encode({
          type: 4,
          streamId: 0,
          chunkStreamId: 2,
          timestamp: 0,
          payload: Buffer.from('000600000000', 'hex'),
        }),
      ),
    )
    const flood = setInterval(() => peer.socket.writableLength < 1_000_000 && peer.write(pings), 1)
    await waitFor(() => fixture.sessions[0]?.ended === 'protocol error')
    clearInterval(flood)
  })
})

describe('time', () => {
  test('closes an incomplete handshake, an idle connection and an idle publisher', async () => {
    const fixture = await start({ handshakeTimeoutMs: 100, idleTimeoutMs: 300, admissionTimeoutMs: 300 })
    const silent = keep(await TestPublisher.open({ port: fixture.port }))
    const half = keep(await TestPublisher.open({ port: fixture.port }))
    half.write(Buffer.concat([Buffer.of(3), Buffer.alloc(1_000)]))
    const connected = keep(await TestPublisher.connect({ port: fixture.port }))
    const publisher = keep(await TestPublisher.connect({ port: fixture.port }))
    await publisher.publish(newKey())
    await Promise.all([silent.closed, half.closed])
    await Promise.all([connected.closed, publisher.closed])
    expect(fixture.sessions[0]?.ended).toBe('idle')
  })

  test('closes connections that send bytes slowly, but no media', async () => {
    const fixture = await start({ idleTimeoutMs: 200, admissionTimeoutMs: 300 })
    const unadmitted = keep(await TestPublisher.connect({ port: fixture.port }))
    const publisher = keep(await TestPublisher.connect({ port: fixture.port }))
    await publisher.publish(newKey())
    const drip = setInterval(() => {
      unadmitted.command('unheardOf', 0)
      publisher.send(4, 0, Buffer.from('000600000000', 'hex'), { chunkStreamId: 2 })
    }, 20)
    await Promise.all([unadmitted.closed, publisher.closed])
    clearInterval(drip)
    expect(fixture.sessions[0]?.ended).toBe('idle')
  })

  test('keeps a publisher that sends media', async () => {
    // Longer than a busy machine may pause.
    const idleTimeoutMs = 1_500
    const fixture = await start({ idleTimeoutMs })
    const publisher = keep(await TestPublisher.connect({ port: fixture.port }))
    await publisher.publish(newKey())
    const until = performance.now() + 2 * idleTimeoutMs
    for (let count = 0; performance.now() < until; count++) {
      publisher.video(count * 20, avcFrame(true))
      await waitFor(() => fixture.sessions[0]?.messages.length === count + 1)
    }
    expect(fixture.sessions[0]?.ended).toBeNull()
  })
})

describe('connections', () => {
  test('limits unadmitted connections of an address; publishers do not count', async () => {
    const fixture = await start({ maxUnadmittedPerAddress: 2 })
    const publisher = keep(await TestPublisher.connect({ port: fixture.port }))
    await publisher.publish(newKey())
    const first = keep(await TestPublisher.connect({ port: fixture.port }))
    keep(await TestPublisher.connect({ port: fixture.port }))
    const third = keep(await TestPublisher.open({ port: fixture.port }))
    await third.closed
    first.close()
    await waitFor(() => fixture.ingest.connections() === 2)
    const fourth = keep(await TestPublisher.connect({ port: fixture.port }))
    expect(await fourth.publish(newKey())).toMatchObject({ code: 'NetStream.Publish.Start' })
    await waitFor(() => fixture.lines.some((line) => line.includes('connections rejected')))
  })

  test('unexpected commands close the connection', async () => {
    const fixture = await start()
    const unconnected = keep(await TestPublisher.open({ port: fixture.port }))
    await unconnected.handshake()
    expect(await unconnected.publish(newKey())).toBeNull()
    const twice = keep(await TestPublisher.connect({ port: fixture.port }))
    await twice.publish(newKey())
    twice.write(
      new ChunkEncoder().encode({
        type: 20,
        streamId: 1,
        chunkStreamId: 3,
        timestamp: 0,
        payload: encodeAmf0('publish', 4, null, newKey()),
      }),
    )
    await twice.closed
    expect(fixture.sessions).toHaveLength(1)
  })
})
