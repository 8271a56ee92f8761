import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { DEFAULT_INGEST_LIMITS } from '../ingest/limits.ts'
import { ChunkEncoder } from './chunk-encoder.ts'
import type { Measurement } from './ingest-child.ts'
import type { IngestProcess } from './ingest-process.ts'

/** A handshake and the longest message that an unadmitted peer may send, without its last bytes. */
function incompleteMessage(): Buffer {
  const encoder = new ChunkEncoder()
  const resize = encoder.changeChunkSize(0x1_0000)
  const payload = Buffer.alloc(DEFAULT_INGEST_LIMITS.maxUnadmittedBytes)
  const message = encoder.encode({ type: 9, streamId: 0, chunkStreamId: 4, timestamp: 0, payload })
  return Buffer.concat([Buffer.of(3), Buffer.alloc(3_072), resize, message.subarray(0, -100)])
}

/** Measures the buffer memory of an ingest per unadmitted peer that sends as much as it may. */
export async function memoryPerUnadmittedPeer(server: IngestProcess, peerCount: number): Promise<number> {
  const buffers = async (): Promise<number> => (await server.ask<Measurement>({ ask: 'measure' })).arrayBuffers
  const before = await buffers()
  const peers: Socket[] = []
  for (let count = 0; count < peerCount; count += 1) {
    const peer = connect({ port: server.port, host: '127.0.0.1' }).on('error', () => {})
    await once(peer, 'connect')
    peer.write(incompleteMessage())
    peers.push(peer)
  }
  let added = 0
  for (let last = -1; added !== last;) {
    last = added
    added = (await buffers()) - before
  }
  for (const peer of peers) peer.destroy()
  return added / peerCount
}
