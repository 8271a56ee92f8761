import { randomBytes } from 'node:crypto'
import { encodeAmf0 } from '../rtmp/amf0.ts'
import { ChunkEncoder } from './chunk-encoder.ts'
import { newKey } from './ingest-fixture.ts'
import { MALFORMED_INPUTS } from './malformed.ts'
import { aacFrame, aacHeader, avcFrame, avcHeader } from './media-payloads.ts'

/** A reproducible source of random integers (mulberry32). */
export function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Everything that a publisher sends after the handshake, without waiting for replies. */
function sessionBytes(path: string): Buffer {
  const encoder = new ChunkEncoder()
  const send = (type: number, timestamp: number, payload: Buffer): Buffer =>
    encoder.encode({ type, streamId: 1, chunkStreamId: type === 20 ? 3 : type, timestamp, payload })
  const key = newKey(path)
  return Buffer.concat([
    send(20, 0, encodeAmf0('connect', 1, { app: 'live', tcUrl: 'rtmp://127.0.0.1/live', fourCcList: ['hvc1'] })),
    encoder.changeChunkSize(4_096),
    send(20, 0, encodeAmf0('releaseStream', 2, null, key)),
    send(20, 0, encodeAmf0('createStream', 4, null)),
    send(20, 0, encodeAmf0('publish', 5, null, key, 'live')),
    send(18, 0, encodeAmf0('@setDataFrame', 'onMetaData', { width: 640, height: 360, list: [1, 2, 3] })),
    send(9, 0, avcHeader()),
    send(8, 0, aacHeader()),
    ...Array.from({ length: 6 }, (_, index) => send(9, index * 33, avcFrame(index === 0, 600))),
    ...Array.from({ length: 6 }, (_, index) => send(8, index * 21, aacFrame())),
  ])
}

/** All bytes of one hostile peer: a handshake and a session, randomly damaged. */
export function mutatedSession(random: (below: number) => number): Buffer {
  const handshake = Buffer.concat([Buffer.of(3), Buffer.alloc(8), randomBytes(1_528), randomBytes(1_536)])
  const kind = random(10)
  if (kind === 0) return randomBytes(random(8_000))
  if (kind === 1) return handshake.subarray(0, random(handshake.length))
  if (kind === 2) return Buffer.concat([handshake, randomBytes(random(8_000))])
  if (kind === 3) {
    const input = MALFORMED_INPUTS[random(MALFORMED_INPUTS.length)]!
    // Other tests send the deeply nested AMF0 objects. They are slow to build.
    if (input.name.includes('objects')) return handshake
    return input.at === 'before' ? input.bytes() : Buffer.concat([handshake, input.bytes()])
  }
  let session = sessionBytes(random(5) === 0 ? 'refused12345' : `fuzz${randomBytes(6).toString('hex')}`)
  for (let count = 1 + random(8); count > 0; count--) session = damage(session, random)
  return Buffer.concat([handshake, session])
}

/** Truncates, inserts, removes, repeats, overwrites or flips bytes at a random position. */
function damage(bytes: Buffer, random: (below: number) => number): Buffer {
  const at = random(bytes.length)
  switch (random(7)) {
    case 0:
      return bytes.subarray(0, Math.max(1, at))
    case 1:
      return Buffer.concat([bytes.subarray(0, at), randomBytes(1 + random(20)), bytes.subarray(at)])
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(bytes.length - 1, at + 1 + random(20)))])
    case 3:
      return Buffer.concat([bytes, bytes.subarray(at)])
    case 4: {
      const filled = Buffer.from(bytes)
      filled.fill(random(2) === 0 ? 0xff : 0, at, Math.min(bytes.length, at + 1 + random(8)))
      return filled
    }
    default: {
      const flipped = Buffer.from(bytes)
      flipped[at] = flipped[at]! ^ (1 << random(8))
      return flipped
    }
  }
}
