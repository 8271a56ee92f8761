import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { classify, VIDEO } from '../rtmp/flv.ts'
import { FlvReader } from '../rtmp/flv-reader.ts'
import { enhancedMessages, makeEnhancedClip, type EnhancedCodec } from '../testing/enhanced-clip.ts'
import { makeFlv } from '../testing/ffmpeg.ts'
import { newKey, startIngest, type IngestFixture } from '../testing/ingest-fixture.ts'
import { TestPublisher } from '../testing/publisher.ts'

// Streams of libx264, libx265, libaom and libvpx with the keyframe flags removed, as some senders of HEVC and AV1 send them.

let folder: string
let fixture: IngestFixture
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-keyframes-'))
  fixture = await startIngest()
})
afterAll(async () => {
  await fixture.ingest.close()
  await rm(folder, { recursive: true })
})

async function videoMessagesOf(codec: EnhancedCodec | 'h264'): Promise<Buffer[]> {
  if (codec !== 'h264') {
    const file = join(folder, `${codec}.mp4`)
    await makeEnhancedClip(file, codec, 2)
    return (await enhancedMessages(file, codec)).flatMap(({ kind, payload }) => (kind === 'video' ? [payload] : []))
  }
  const file = join(folder, 'clip.flv')
  await makeFlv(file, 3)
  const messages: Buffer[] = []
  const reader = new FlvReader(({ body, type }) => {
    if (type === VIDEO) messages.push(Buffer.from(body))
  })
  reader.push(await readFile(file))
  return messages
}

test.each(['h264', 'hevc', 'av1', 'vp9'] as const)(
  'detects and flags keyframes of %s without a flag',
  async (codec) => {
    const original = await videoMessagesOf(codec)
    const publisher = await TestPublisher.connect({ port: fixture.port })
    await publisher.publish(newKey())
    publisher.setChunkSize(65_536)
    for (const [index, payload] of original.entries()) {
      const unflagged = Buffer.from(payload)
      if (classify(VIDEO, payload).isFrame) unflagged[0] = (payload[0]! & 0x8f) | 0x20
      publisher.video(index * 33, unflagged)
    }
    const { messages } = fixture.sessions.at(-1)!
    await waitFor(() => messages.length === original.length)
    publisher.close()
    // The result equals the stream before the flags were removed.
    const isFlagged = (payload: Buffer) => ((payload[0]! >> 4) & 7) === 1 && classify(VIDEO, payload).isFrame
    expect(messages.map(({ isKeyframe }) => isKeyframe)).toEqual(original.map(isFlagged))
    expect(messages.filter(({ isKeyframe }) => isKeyframe).length).toBeGreaterThan(1)
    expect(messages.every(({ payload }, index) => payload.equals(original[index]!))).toBe(true)
  },
)
