import { crc32 } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Feed } from '../testing/feed.ts'
import { enhancedVideo } from '../testing/media-payloads.ts'
import { startNodeWithSinks, destinationTo, type NodeWithSinks } from '../testing/node-fixture.ts'
import type { TestPublisher } from '../testing/publisher.ts'
import { startSink } from '../testing/sink.ts'
import type { DestinationRules } from '../types.ts'

/** The messages are built by hand as Enhanced RTMP v2 specifies, because ffmpeg before 6.1 cannot write them. */

let scene: NodeWithSinks
let feed: Feed | undefined
afterEach(async () => {
  feed?.stop().publisher.close()
  feed = undefined
  await scene.close()
})

const RULES: DestinationRules = {
  name: 'Elsewhere',
  videoCodecs: ['h264', 'hevc', 'av1'],
  audioCodecs: ['aac', 'opus'],
  maxBitrate: null,
  maxKeyframeIntervalSeconds: null,
}
const ONLY_H264: DestinationRules = { ...RULES, name: 'Twitch', videoCodecs: ['h264'], audioCodecs: ['aac'] }

const opus = (packetType: number, mark: number) =>
  Buffer.concat([Buffer.of(0x90 | packetType), Buffer.from('Opus'), Buffer.alloc(40, mark)])

/** Sends both configurations and `count` frames of each kind, every tenth a keyframe. Returns the checksums of all messages. */
function send(publisher: TestPublisher, fourCc: string, count: number): { video: number[]; audio: number[] } {
  const sent: { video: number[]; audio: number[] } = { video: [], audio: [] }
  const video = (timestamp: number, body: Buffer): void => {
    sent.video.push(crc32(body))
    publisher.video(timestamp, body)
  }
  const audio = (timestamp: number, body: Buffer): void => {
    sent.audio.push(crc32(body))
    publisher.audio(timestamp, body)
  }
  video(0, enhancedVideo(fourCc, 0, true, Buffer.alloc(30, 1)))
  audio(0, opus(0, 1))
  for (let frame = 0; frame < count; frame += 1) {
    // Encoders mix CodedFrames and CodedFramesX.
    video(frame * 20, enhancedVideo(fourCc, frame % 2 === 0 ? 1 : 3, frame % 10 === 0, Buffer.alloc(500, frame)))
    audio(frame * 20 + 5, opus(1, frame))
  }
  return sent
}

test.each(['hvc1', 'av01'])(
  '%s with Opus is relayed unchanged, and only to destinations that accept the codecs',
  async (fourCc) => {
    scene = await startNodeWithSinks([await startSink(), await startSink(), await startSink()])
    const [accepting, refusing, unknown] = scene.sinks.map((sink, index) => destinationTo(sink, `d${index}`))
    scene.change({ destinations: [{ ...accepting!, rules: RULES }, { ...refusing!, rules: ONLY_H264 }, unknown!] })
    const publisher = await scene.publish()
    await waitFor(() => scene.sinks.every((sink) => sink.last()?.publishedAt))
    const sent = send(publisher, fourCc, 40)
    for (const sink of [scene.sinks[0]!, scene.sinks[2]!]) {
      await waitFor(() => sink.messages('audio').length === sent.audio.length)
      await waitFor(() => sink.messages('video').length === sent.video.length)
      expect(sink.messages('video').map(({ checksum }) => checksum)).toEqual(sent.video)
      expect(sink.messages('audio').map(({ checksum }) => checksum)).toEqual(sent.audio)
      expect(sink.last()!.connectObject).toMatchObject({ fourCcList: expect.arrayContaining(['hvc1', 'av01', 'Opus']) })
    }
    const codec = fourCc === 'hvc1' ? 'hevc' : 'av1'
    await waitFor(() => scene.destination('d1').state === 'needs_attention')
    expect(scene.destination('d1').lastError).toMatchObject({
      code: 'codec_refused',
      message: `Twitch does not accept ${codec} video. It accepts h264.`,
    })
    expect(scene.sinks[1]!.messages('video')).toEqual([])
    expect(scene.node.status().streams[0]!.ingest).toMatchObject({ videoCodec: codec, audioCodec: 'opus' })
    // A retry does not help. A publisher with an accepted codec does.
    scene.node.retry('stream-1', 'd1')
    await waitFor(() => scene.sinks[1]!.last()!.closed)
    expect(scene.destination('d1').state).toBe('needs_attention')
    publisher.close()
    await waitFor(() => scene.node.status().streams[0]!.ingest === null)
    feed = new Feed(await scene.publish()).start()
    await waitFor(() => scene.destination('d1').state === 'live')
  },
)

test('a destination that joins late starts with the configuration and the current GOP', async () => {
  scene = await startNodeWithSinks([await startSink(), await startSink()])
  const [first, late] = scene.sinks.map((sink, index) => destinationTo(sink, `d${index}`))
  scene.change({ destinations: [first!] })
  const publisher = await scene.publish()
  await waitFor(() => scene.sinks[0]!.last()?.publishedAt)
  const sent = send(publisher, 'hvc1', 25)
  await waitFor(() => scene.sinks[0]!.messages('video').length === sent.video.length)
  scene.change({ destinations: [first!, late!] })
  await waitFor(() => scene.sinks[1]!.messages('video').length === 6)
  expect(scene.sinks[1]!.messages('video').map(({ checksum }) => checksum)).toEqual([
    sent.video[0],
    ...sent.video.slice(21),
  ])
})

test('refuses multitrack streams with a message to the encoder', async () => {
  scene = await startNodeWithSinks([])
  const publisher = await scene.publish()
  publisher.video(0, enhancedVideo('avc1', 0, true))
  publisher.video(0, Buffer.concat([Buffer.of(0x96, 0x00), Buffer.from('avc1'), Buffer.of(1), Buffer.alloc(8)]))
  await publisher.closed
  expect(publisher.statuses.at(-1)).toMatchObject({
    level: 'error',
    code: 'NetStream.Publish.Rejected',
    description: expect.stringContaining('multitrack'),
  })
  await waitFor(() => scene.node.status().streams[0]!.ingest === null)
})
