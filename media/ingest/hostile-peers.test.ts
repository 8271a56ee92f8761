import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { encodeAmf0 } from '../rtmp/amf0.ts'
import { ChunkEncoder } from '../testing/chunk-encoder.ts'
import { newKey, startIngest } from '../testing/ingest-fixture.ts'
import type { IngestFixture } from '../testing/ingest-fixture.ts'
import { MALFORMED_INPUTS, memoryBomb } from '../testing/malformed.ts'
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

describe.each(['a stranger', 'a publisher'])('malformed input from %s', (who) => {
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
    if (input.at === 'after') await peer.shakeHands()
    if (input.at === 'after' && who === 'a publisher') {
      peer.command('connect', 1, { app: 'live' })
      expect(await peer.publish(newKey())).toMatchObject({ code: 'NetStream.Publish.Start' })
    }
    peer.write(input.bytes())
    if (input.isFatal) await peer.closed
    // The stream beside it goes on, and the server takes new publishers.
    live.video(++sent, avcFrame(true))
    await waitFor(() => fixture.sessions[0]?.messages.length === sent)
    const next = keep(await TestPublisher.connect({ port: fixture.port }))
    expect(await next.publish(newKey())).toMatchObject({ code: 'NetStream.Publish.Start' })
    expect(fixture.sessions[0]?.ended).toBeNull()
    expect(fixture.lines.filter((line) => line.startsWith('error'))).toEqual([])
  })
})

describe('memory', () => {
  const held = (): number => process.memoryUsage().arrayBuffers

  test('50 peers that declare 32 GB each get next to nothing reserved', async () => {
    const fixture = await start()
    const peers = await Promise.all(Array.from({ length: 50 }, () => TestPublisher.open({ port: fixture.port })))
    for (const peer of peers) await keep(peer).shakeHands()
    const before = held()
    for (const peer of peers) peer.write(memoryBomb())
    await Promise.all(peers.map((peer) => peer.closed))
    expect(held() - before).toBeLessThan(10_000_000)
  })

  test('a publisher that declares 8 MiB on 16 chunk streams holds what it has sent', async () => {
    const fixture = await start()
    const peer = keep(await TestPublisher.connect({ port: fixture.port }))
    await peer.publish(newKey())
    const before = held()
    for (let id = 10; id < 23; id++) {
      const message = { type: 9, streamId: 1, chunkStreamId: id, timestamp: 0, payload: Buffer.alloc(8 * 1024 * 1024) }
      peer.write(new ChunkEncoder().chunks(message)[0]!)
    }
    peer.video(0, avcFrame(true))
    await waitFor(() => fixture.sessions[0]?.messages.length === 1)
    // Its own 13 payloads are the test's; the server's share is a few kilobytes.
    expect(held() - before).toBeLessThan(13 * 8 * 1024 * 1024 + 1_000_000)
  })

  test('a publisher cannot have more than 16 MiB in flight', async () => {
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

  test('300 idle connections cost a few kilobytes each, and are gone after the handshake time-out', async () => {
    const fixture = await start({ handshakeTimeoutMs: 1_500, maxUnadmittedPerAddress: 1_000 })
    const before = held()
    const peers = await Promise.all(Array.from({ length: 300 }, () => TestPublisher.open({ port: fixture.port })))
    await waitFor(() => fixture.ingest.connections() === 300)
    for (const peer of peers) keep(peer).write(Buffer.concat([Buffer.of(3), Buffer.alloc(100)]))
    expect((held() - before) / 300).toBeLessThan(20_000)
    await waitFor(() => fixture.ingest.connections() === 0)
  })

  test('a stranger that sends on and on without publishing is closed', async () => {
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

  test('a peer that asks and never reads the answers is closed', async () => {
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
    await waitFor(() => fixture.sessions[0]?.ended === 'protocol error', { timeoutMs: 15_000 })
    clearInterval(flood)
  }, 20_000)
})

describe('time', () => {
  test('a half handshake, a silent connect and a silent publisher are dropped', async () => {
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

  test('a connection that drips bytes does not hold its place', async () => {
    const fixture = await start({ idleTimeoutMs: 200, admissionTimeoutMs: 300 })
    const stranger = keep(await TestPublisher.connect({ port: fixture.port }))
    const publisher = keep(await TestPublisher.connect({ port: fixture.port }))
    await publisher.publish(newKey())
    const drip = setInterval(() => {
      stranger.command('unheardOf', 0)
      publisher.send(4, 0, Buffer.from('000600000000', 'hex'), { chunkStreamId: 2 })
    }, 20)
    await Promise.all([stranger.closed, publisher.closed])
    clearInterval(drip)
    expect(fixture.sessions[0]?.ended).toBe('idle')
  })

  test('a publisher that sends media is left alone', async () => {
    // Longer than a busy machine stands still.
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

describe('numbers', () => {
  test('strangers of one address are capped, publishers do not count among them', async () => {
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
    await waitFor(() => fixture.lines.some((line) => line.includes('turned away')))
  })

  test('calls out of turn close the connection', async () => {
    const fixture = await start()
    const unconnected = keep(await TestPublisher.open({ port: fixture.port }))
    await unconnected.shakeHands()
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
