import { createHash } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { encodeAmf0 } from '../rtmp/amf0.ts'
import { newKey, startIngest } from '../testing/ingest-fixture.ts'
import { aacFrame, aacHeader, avcFrame, avcHeader, enhancedVideo } from '../testing/media-payloads.ts'
import { TestPublisher } from '../testing/publisher.ts'
import { floodUntilClosed, useIngest } from '../testing/use-ingest.ts'
import { startRtmpIngest } from './rtmp-ingest.ts'

/** The state of node-media-server, which the whole process shares. */
const engine = createRequire(import.meta.url)('node-media-server/src/core/context.js') as {
  sessions: Map<string, { streamPath: string }>
  broadcasts: Map<string, { publisher: unknown }>
  store: unknown
  eventEmitter: EventEmitter
}
const { start, connect } = useIngest()

describe('publishing', () => {
  test('media is delivered complete, in order and classified, and the end is reported immediately', async () => {
    const fixture = await start()
    const publisher = await connect(fixture)
    const key = newKey('mystream1')
    expect(await publisher.publish(`${key}?token=ignored`)).toMatchObject({ code: 'NetStream.Publish.Start' })
    publisher.metadata({ width: 640, height: 360, framerate: 30 })
    publisher.video(0, avcHeader())
    publisher.audio(0, aacHeader())
    publisher.setChunkSize(4_096)
    publisher.video(0, avcFrame(true, 30_000, 1))
    publisher.audio(10, aacFrame(60, 2))
    publisher.video(33, avcFrame(false, 5_000, 3))
    publisher.send(18, 40, encodeAmf0('onTextData', { text: 'hello' }))
    publisher.video(2_000, avcFrame(true, 100, 4))
    publisher.video(2_000, Buffer.alloc(0))
    const session = await waitFor(() => (fixture.sessions[0]?.messages.length === 8 ? fixture.sessions[0] : null))
    expect(fixture.requests).toEqual([
      { path: 'mystream1', keyHash: createHash('sha256').update(key).digest('hex'), remoteAddress: '127.0.0.1' },
    ])
    expect(session.publisher).toMatchObject({
      path: 'mystream1',
      remoteAddress: '127.0.0.1',
      stream: { streamId: 'mystream1' },
    })
    expect(session.messages.map((one) => [one.kind, one.timestamp, one.isSequenceHeader, one.isKeyframe])).toEqual([
      ['data', 0, true, false],
      ['video', 0, true, false],
      ['audio', 0, true, false],
      ['video', 0, false, true],
      ['audio', 10, false, false],
      ['video', 33, false, false],
      ['data', 40, false, false],
      ['video', 2_000, false, true],
    ])
    expect(session.messages[3]?.payload).toEqual(avcFrame(true, 30_000, 1))
    expect(session.publisher.stats()).toMatchObject({
      videoCodec: 'h264',
      audioCodec: 'aac',
      width: 640,
      height: 360,
      fps: 30,
      keyframeIntervalSeconds: 2,
      warnings: [],
      bytesReceived: session.messages.reduce((sum, one) => sum + one.payload.length, 0),
    })
    publisher.close()
    await waitFor(() => session.ended === 'closed')
    await waitFor(() => fixture.ingest.connections() === 0)
  })

  test.each(['FCUnpublish', 'closeStream', 'deleteStream'])('%s ends the stream immediately', async (command) => {
    const fixture = await start()
    const publisher = await connect(fixture, { ignoreFin: true })
    await publisher.publish(newKey())
    publisher.command(command, 5, null, 1)
    publisher.video(0, avcFrame(true))
    await waitFor(() => fixture.sessions[0]?.ended === 'unpublished')
    await floodUntilClosed(publisher)
    expect(fixture.sessions[0]?.messages).toEqual([])
  })

  test('node-media-server has a session and a broadcast for the public path until the publisher ends', async () => {
    const fixture = await start()
    const events: string[] = []
    for (const event of ['prePublish', 'postPublish', 'donePublish']) {
      engine.eventEmitter.on(event, (session: { streamPath: string }) => events.push(`${event} ${session.streamPath}`))
    }
    const publisher = await connect(fixture)
    await publisher.publish(newKey('mystream2'))
    expect([...engine.broadcasts.keys()]).toEqual(['/live/mystream2'])
    expect([...engine.sessions.values()].map((session) => session.streamPath)).toContain('/live/mystream2')
    publisher.close()
    await waitFor(() => fixture.sessions[0]?.ended !== null)
    expect(events).toEqual(['prePublish /live/mystream2', 'postPublish /live/mystream2', 'donePublish /live/mystream2'])
    expect(engine.broadcasts.size).toBe(0)
    await waitFor(() => engine.sessions.size === 0)
    expect(engine.store).toBeNull()
    engine.eventEmitter.removeAllListeners()
  })

  test('Enhanced RTMP is announced, and SequenceEnd is not taken for a sequence header', async () => {
    const fixture = await start()
    const publisher = await connect(fixture)
    const reply = publisher.messages.find((message) => message.type === 20)!.payload.toString('latin1')
    for (const word of ['fourCcList', 'capsEx', 'videoFourCcInfoMap', 'hvc1', 'av01']) expect(reply).toContain(word)
    await publisher.publish(newKey())
    for (const [packetType, isKeyframe] of [
      [0, true],
      [1, true],
      [3, false],
      [2, true],
    ] as const) {
      publisher.video(0, enhancedVideo('hvc1', packetType, isKeyframe))
    }
    publisher.audio(0, aacHeader())
    publisher.video(0, enhancedVideo('zzzz', 1, true))
    await waitFor(() => fixture.sessions[0]?.messages.length === 6)
    const { messages } = fixture.sessions[0]!
    expect(messages.map((one) => `${one.isSequenceHeader ? 'header' : ''}${one.isKeyframe ? 'key' : ''}`)).toEqual([
      'header',
      'key',
      '',
      '',
      'header',
      'key',
    ])
    expect(messages[5]?.payload).toEqual(enhancedVideo('zzzz', 1, true))
  })

  test('timestamps continue across 0xFFFFFF and the 32-bit wrap', async () => {
    const fixture = await start()
    const publisher = await connect(fixture)
    await publisher.publish(newKey())
    const times = [0xff_fff0, 0xff_ffff, 0x100_0010, 0xffff_fff0, 0xffff_ffff, 0x1_0000_0010]
    for (const time of times) publisher.video(time % 0x1_0000_0000, avcFrame(true, 500))
    await waitFor(() => fixture.sessions[0]?.messages.length === times.length)
    expect(fixture.sessions[0]!.messages.map((message) => message.timestamp)).toEqual(times)
  })

  test('handles aggregate messages and commands and data of the AMF3 message types', async () => {
    const fixture = await start()
    const publisher = await connect(fixture)
    publisher.send(17, 0, Buffer.concat([Buffer.of(0), encodeAmf0('publish', 3, null, newKey(), 'live')]), {
      chunkStreamId: 3,
    })
    await publisher.until(() => publisher.statuses.length === 1)
    const body = avcFrame(true, 40)
    const head = Buffer.from('0900002800000000000000', 'hex')
    publisher.send(22, 77, Buffer.concat([head, body, Buffer.alloc(4)]))
    publisher.send(15, 80, Buffer.concat([Buffer.of(0), encodeAmf0('onMetaData', { width: 8 })]))
    await waitFor(() => fixture.sessions[0]?.messages.length === 2)
    expect(fixture.sessions[0]!.messages).toMatchObject([
      { kind: 'video', timestamp: 77, payload: body, isKeyframe: true },
      { kind: 'data', timestamp: 80, isSequenceHeader: true, payload: encodeAmf0('onMetaData', { width: 8 }) },
    ])
  })

  test('replies to pings and acknowledges received bytes', async () => {
    const fixture = await start()
    const publisher = await connect(fixture)
    await publisher.publish(newKey())
    publisher.send(4, 0, Buffer.from('000600000007', 'hex'), { chunkStreamId: 2 })
    await publisher.until(() => publisher.messages.some((one) => one.payload.toString('hex') === '000700000007'))
    const window = Buffer.alloc(4)
    window.writeUInt32BE(10_000)
    publisher.send(5, 0, window, { chunkStreamId: 2 })
    publisher.video(0, avcFrame(true, 30_000))
    await publisher.until(() => publisher.messages.some((one) => one.type === 3))
    expect(publisher.messages.find((one) => one.type === 3)!.payload.readUInt32BE()).toBeGreaterThan(10_000)
  })
})

describe('listening', () => {
  test('a port in use rejects the start and does not exit the process', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    const { log, authorizePublish } = {
      log: { debug() {}, info() {}, warn() {}, error() {} },
      authorizePublish: () => new Promise<never>(() => {}),
    }
    const options = { host: '127.0.0.1', port, log, authorizePublish, onPublisher: () => {} }
    await expect(startRtmpIngest(options)).rejects.toThrow(`port ${port} on 127.0.0.1 is taken: set RTMP_PORT`)
    other.close()
  })

  test('close ends all connections and frees the port', async () => {
    const fixture = await startIngest()
    const publisher = await TestPublisher.connect({ port: fixture.port, ignoreFin: true })
    await publisher.publish(newKey())
    const idle = await TestPublisher.open({ port: fixture.port, ignoreFin: true })
    await fixture.ingest.close()
    expect(fixture.sessions[0]?.ended).toBe('shutdown')
    await floodUntilClosed(publisher)
    idle.close()
    expect(fixture.ingest.connections()).toBe(0)
    await expect(TestPublisher.open({ port: fixture.port })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('an error of the owner ends only that publisher and is logged', async () => {
    const fixture = await start()
    const publisher = await connect(fixture)
    await publisher.publish(newKey())
    fixture.sessions[0]!.publisher.onMessage = () => {
      throw new Error('owner is broken')
    }
    publisher.video(0, avcFrame(true))
    await publisher.closed
    expect(fixture.sessions[0]?.ended).toBe('protocol error')
    expect(fixture.lines.some((line) => line.startsWith('error') && line.includes('owner is broken'))).toBe(true)
  })
})
