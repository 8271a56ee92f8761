/** The destinations of the relay benchmark, in a separate process, so that their work does not count for any side. */
import { LOCALHOST_CERTIFICATE } from '../../../media/testing/certificates.ts'
import { startSink, type SinkConnection } from '../../../media/testing/sink.ts'
import { monotonicOffsetMs } from './monotonic.ts'
import { SECURE, type Arrivals, type SinkAnswer, type SinkQuestion } from './sink.ts'

const offset = monotonicOffsetMs()
// The chunk size that nginx-rtmp and most platforms announce; otherwise ffmpeg would send chunks of 128 bytes.
const secure = process.argv.includes(SECURE)
const sink = await startSink({ chunkSize: 4096, ...(secure ? { tls: LOCALHOST_CERTIFICATE } : {}) })

function arrivals(connection: SinkConnection, withFrames: boolean): Arrivals {
  const { streamKey, publishedAt, socket } = connection
  const frames = withFrames ? connection.messages.filter(({ isSequenceHeader }) => !isSequenceHeader) : []
  return {
    streamKey,
    bytes: socket.bytesRead,
    publishedAt: publishedAt === null ? null : publishedAt + offset,
    frames: frames.map(({ kind, checksum, at }) => ({ kind, checksum, at: at + offset })),
  }
}

process.on('message', ({ id, withFrames }: SinkQuestion) => {
  const connections = sink.connections.map((connection) => arrivals(connection, withFrames))
  process.send?.({ id, connections } satisfies SinkAnswer)
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port: sink.port })
