import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { crc32 } from 'node:zlib'
import { decodeAmf0, encodeAmf0, type AmfValue } from '../rtmp/amf0.ts'
import { ChunkReader, type RtmpMessage } from '../rtmp/chunk-reader.ts'
import { flvHeader, flvTag } from '../preview/flv-tag.ts'
import type { MediaKind } from '../types.ts'
import { ChunkEncoder } from './chunk-encoder.ts'

/** How a sink treats publishers. Changes take effect with the next event. */
export interface SinkBehaviour {
  /** Reply to `publish` with this error and close. */
  refuse?: { code: string; description?: string } | undefined
  /** Reply to `connect` with `_error` and close. */
  refuseConnect?: { code: string; description: string } | undefined
  /** Bytes per second to read from each connection. */
  bytesPerSecond?: number | undefined
  /** Accept connections and send nothing. */
  blackhole?: boolean
  /** Reply to everything except `publish`. */
  ignorePublish?: boolean
  /** Never send an RTMP Acknowledgement. */
  neverAcknowledge?: boolean
  /** Chunk size to announce with `connect`, as platforms do. Many publishers then use it too. */
  chunkSize?: number
  /** Keep audio and video for {@link SinkConnection.toFlv}. */
  keepMedia?: boolean
  /** Message stream id in the reply to `createStream`; 1 by default. */
  messageStreamId?: number
  /** Refuse a key that was published before, like a server that has not noticed the end of a broken connection. */
  keepsSessions?: boolean
  /** Close without a reply to `publish`, or with the first media message. */
  closes?: 'at publish' | 'at media' | undefined
  /** Keep the payloads of messages. */
  keepPayloads?: boolean
}

export interface SinkMessage {
  readonly kind: MediaKind
  /** Milliseconds, as received. */
  readonly timestamp: number
  readonly streamId: number
  readonly bytes: number
  readonly checksum: number
  readonly isSequenceHeader: boolean
  readonly isKeyframe: boolean
  /** Monotonic milliseconds. */
  readonly at: number
  readonly payload?: Buffer
}

const KINDS: Record<number, MediaKind | undefined> = { 8: 'audio', 9: 'video', 18: 'data' }
const HANDSHAKE_BYTES = 1_536

/** A publisher's connection to a sink, and what was received over it. */
export class SinkConnection {
  readonly commands: { name: string; values: AmfValue[] }[] = []
  readonly messages: SinkMessage[] = []
  readonly openedAt = performance.now()
  /** Monotonic milliseconds; null before Publish.Start. */
  publishedAt: number | null = null
  streamKey: string | null = null
  /** Body of the last video sequence header. */
  videoHeader: Buffer | null = null
  closed = false
  /** Monotonic milliseconds; null while it is open. */
  closedAt: number | null = null
  pongs = 0
  readonly #kept: Buffer[] = []
  readonly socket: Socket
  readonly #behaviour: SinkBehaviour
  readonly #wasPublished: (key: string) => boolean
  readonly #encoder = new ChunkEncoder()
  readonly #reader: ChunkReader
  #received = Buffer.alloc(0)
  #handshakeDone = false
  #window = 0
  #acknowledged = 0
  #stalled = false

  constructor(socket: Socket, behaviour: SinkBehaviour, wasPublished: (key: string) => boolean) {
    this.socket = socket
    this.#wasPublished = wasPublished
    this.#behaviour = behaviour
    this.#reader = new ChunkReader({
      maxMessageBytes: 16 * 1024 * 1024,
      maxChunkStreams: 64,
      maxBufferedBytes: 64 * 1024 * 1024,
      onMessage: (message) => this.#onMessage(message),
    })
    socket.on('data', (bytes: Buffer) => this.#onData(bytes))
    // Errors also set `closed`.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
      this.closedAt = performance.now()
    })
  }

  /** The command object of `connect`. */
  get connectObject(): { [key: string]: AmfValue } {
    const [object] = this.commands.find(({ name }) => name === 'connect')?.values ?? []
    return object as { [key: string]: AmfValue }
  }

  of(kind: MediaKind): SinkMessage[] {
    return this.messages.filter((message) => message.kind === kind)
  }

  /** The received audio and video as an FLV file, with `keepMedia`. */
  toFlv(): Buffer {
    return Buffer.concat([flvHeader({ audio: true, video: true }), ...this.#kept])
  }

  /** Stops reading, like a server that hangs. */
  stall(): void {
    this.#stalled = true
    this.socket.pause()
  }

  unstall(): void {
    this.#stalled = false
    this.socket.resume()
  }

  ping(): void {
    this.#send(4, Buffer.from('00060000002a', 'hex'))
  }

  status(level: string, code: string, description = ''): void {
    this.#command('onStatus', 0, null, { level, code, description })
  }

  #onData(bytes: Buffer): void {
    const { blackhole = false, bytesPerSecond } = this.#behaviour
    if (blackhole) return
    if (bytesPerSecond !== undefined) {
      this.socket.pause()
      setTimeout(() => this.#stalled || this.socket.resume(), (bytes.length / bytesPerSecond) * 1_000)
    }
    if (this.#handshakeDone) this.#read(bytes)
    else this.#readHandshake(bytes)
  }

  #readHandshake(bytes: Buffer): void {
    const before = this.#received.length
    this.#received = Buffer.concat([this.#received, bytes])
    const first = 1 + HANDSHAKE_BYTES
    if (before < first && this.#received.length >= first) {
      this.socket.write(Buffer.concat([Buffer.alloc(first, 3), this.#received.subarray(1, first)]))
    }
    if (this.#received.length < first + HANDSHAKE_BYTES) return
    this.#handshakeDone = true
    this.#read(this.#received.subarray(first + HANDSHAKE_BYTES))
  }

  #read(bytes: Buffer): void {
    this.#reader.push(bytes)
    const { bytesReceived } = this.#reader
    if (this.#behaviour.neverAcknowledge === true || this.#window === 0) return
    if (bytesReceived - this.#acknowledged < this.#window) return
    this.#acknowledged = bytesReceived
    this.#send(3, uint32(bytesReceived % 0x1_0000_0000))
  }

  #onMessage(message: RtmpMessage): void {
    const kind = KINDS[message.type]
    if (kind !== undefined && this.#behaviour.closes === 'at media') this.socket.end()
    if (kind !== undefined) this.#record(describe(kind, message), message.payload)
    else if (message.type === 20) this.#onCommand(decodeAmf0(message.payload))
    else if (message.type === 5) this.#window = message.payload.readUInt32BE()
    else if (message.type === 4 && message.payload.readUInt16BE() === 7) this.pongs += 1
  }

  #record(message: SinkMessage, payload: Buffer): void {
    this.messages.push(this.#behaviour.keepPayloads === true ? { ...message, payload } : message)
    if (message.kind === 'video' && message.isSequenceHeader) this.videoHeader = payload
    if (this.#behaviour.keepMedia === true && message.kind !== 'data')
      this.#kept.push(flvTag({ kind: message.kind, payload }, message.timestamp))
  }

  #onCommand([name, transaction, ...values]: AmfValue[]): void {
    this.commands.push({ name: name as string, values })
    const { refuse, refuseConnect, ignorePublish = false, messageStreamId = 1, chunkSize } = this.#behaviour
    if (name === 'connect' && refuseConnect !== undefined) {
      this.#command('_error', transaction, null, { level: 'error', ...refuseConnect })
      this.socket.end()
    } else if (name === 'connect') {
      if (chunkSize !== undefined) this.socket.write(this.#encoder.changeChunkSize(chunkSize))
      this.#command('_result', transaction, {}, { level: 'status', code: 'NetConnection.Connect.Success' })
    } else if (name === 'releaseStream') {
      this.#command('_error', transaction, null, { level: 'error', code: 'NetConnection.Call.Failed' })
    } else if (name === 'createStream') {
      this.#command('_result', transaction, null, messageStreamId)
    } else if (name === 'publish') {
      const streamKey = values[1] as string
      const isStillPublished = this.#behaviour.keepsSessions === true && this.#wasPublished(streamKey)
      this.streamKey = streamKey
      if (ignorePublish) return
      if (this.#behaviour.closes === 'at publish') {
        this.socket.end()
        return
      }
      if (isStillPublished) {
        this.status('error', 'NetStream.Publish.BadName')
        this.socket.end()
        return
      }
      if (refuse !== undefined) {
        this.status('error', refuse.code, refuse.description)
        this.socket.end()
        return
      }
      this.publishedAt = performance.now()
      this.status('status', 'NetStream.Publish.Start')
    }
  }

  #command(...values: AmfValue[]): void {
    this.#send(20, encodeAmf0(...values))
  }

  #send(type: number, payload: Buffer): void {
    if (!this.socket.writable) return
    this.socket.write(this.#encoder.encode({ type, streamId: 0, chunkStreamId: 3, timestamp: 0, payload }))
  }
}

export interface Sink {
  readonly port: number
  readonly behaviour: SinkBehaviour
  /** All connections, oldest first. */
  readonly connections: SinkConnection[]
  /** The newest connection. */
  last(): SinkConnection | undefined
  /** The media messages of all connections. */
  messages(kind?: MediaKind): SinkMessage[]
  /** Closes the open connections with FIN. */
  closeConnections(): void
  /** Closes the open connections with RST. */
  resetConnections(): void
  close(): Promise<void>
}

export interface SinkOptions extends SinkBehaviour {
  /** A free port by default. */
  readonly port?: number
  readonly host?: string
  /** PEM. Makes it an RTMPS server. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** Starts an RTMP server that accepts publishers, records what they send, and can simulate faults. */
export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const { port = 0, host = '127.0.0.1', tls, ...behaviour } = options
  const connections: SinkConnection[] = []
  const accept = (socket: Socket): void => {
    const wasPublished = (key: string) => connections.some((one) => one.streamKey === key && one.publishedAt !== null)
    connections.push(new SinkConnection(socket, behaviour, wasPublished))
  }
  const server: Server = tls === undefined ? createServer({ noDelay: true }, accept) : createTlsServer(tls, accept)
  server.on('error', () => {})
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the sink has no port')
  const open = (): SinkConnection[] => connections.filter((connection) => !connection.closed)
  return {
    port: address.port,
    behaviour,
    connections,
    last: () => connections.at(-1),
    messages: (kind) => connections.flatMap((one) => (kind === undefined ? one.messages : one.of(kind))),
    closeConnections: () => open().forEach(({ socket }) => socket.destroySoon()),
    resetConnections: () => open().forEach(({ socket }) => socket.resetAndDestroy()),
    async close() {
      server.close()
      for (const { socket } of connections) socket.destroy()
      if (server.listening) await once(server, 'close')
    },
  }
}

function describe(kind: MediaKind, { payload, timestamp, streamId }: RtmpMessage): SinkMessage {
  const isSequenceHeader = kind === 'data' || (payload[1] === 0 && payload.length > 2 && payload[0] !== 0x27)
  const isKeyframe = kind === 'video' && !isSequenceHeader && payload[0]! >> 4 === 1
  const checksum = crc32(payload)
  const at = performance.now()
  return { kind, timestamp, streamId, bytes: payload.length, checksum, isSequenceHeader, isKeyframe, at }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
