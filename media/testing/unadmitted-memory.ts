import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { DEFAULT_INGEST_LIMITS } from '../ingest/limits.ts'
import { ChunkEncoder } from './chunk-encoder.ts'
import type { Measurement } from './ingest-child.ts'
import type { IngestProcess } from './ingest-process.ts'

/** A handshake, and the longest message that a stranger may begin but for its end. */
function allButTheEnd(): Buffer {
  const encoder = new ChunkEncoder()
  const resize = encoder.changeChunkSize(0x1_0000)
  const payload = Buffer.alloc(DEFAULT_INGEST_LIMITS.maxUnadmittedBytes)
  const message = encoder.encode({ type: 9, streamId: 0, chunkStreamId: 4, timestamp: 0, payload })
  return Buffer.concat([Buffer.of(3), Buffer.alloc(3_072), resize, message.subarray(0, -100)])
}

/** Bytes of buffers that an ingest holds for each peer that sends all it may and never publishes. */
export async function heldForStranger(server: IngestProcess, strangers: number): Promise<number> {
  const buffers = async (): Promise<number> => (await server.ask<Measurement>({ ask: 'measure' })).arrayBuffers
  const before = await buffers()
  const peers: Socket[] = []
  for (let count = 0; count < strangers; count += 1) {
    const peer = connect({ port: server.port, host: '127.0.0.1' }).on('error', () => {})
    await once(peer, 'connect')
    peer.write(allButTheEnd())
    peers.push(peer)
  }
  let held = 0
  for (let last = -1; held !== last;) {
    last = held
    held = (await buffers()) - before
  }
  for (const peer of peers) peer.destroy()
  return held / strangers
}
