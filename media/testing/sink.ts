import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { crc32 } from 'node:zlib'
import { decodeAmf0, encodeAmf0, type AmfValue } from '../rtmp/amf0.ts'
import { ChunkReader, type RtmpMessage } from '../rtmp/chunk-reader.ts'
import { flvHeader, flvTag } from '../preview/flv-tag.ts'
import type { MediaKind } from '../types.ts'
import { ChunkEncoder } from './chunk-encoder.ts'

/** How a sink treats its publishers; may be changed at any time and holds from the next event on. */
export interface SinkBehaviour {
  /** Answer `publish` with this status code, and end. */
  refuse?: { code: string; description?: string } | undefined
  /** Answer `connect` with `_error`. */
  refuseConnect?: { code: string; description: string } | undefined
  /** Bytes a second that are read of each connection. */
  bytesPerSecond?: number | undefined
  /** Take connections and say nothing. */
  blackhole?: boolean
  /** Answer everything but `publish`. */
  ignorePublish?: boolean
  /** Never send an RTMP Acknowledgement. */
  neverAcknowledge?: boolean
  /** Announced on `connect`, as platforms do; many publishers then cut what they send into chunks of this size. */
  chunkSize?: number
  /** Keep what is sent, for {@link SinkConnection.film}. */
  keepMedia?: boolean
  /** The message stream id given by `createStream`; 1 unless told otherwise. */
  messageStreamId?: number
  /** Refuse a key that was published before, as servers do that have not noticed the end of a broken connection. */
  keepsSessions?: boolean
  /** Close without a word: in place of an answer to `publish`, or as soon as media comes. */
  closes?: 'at publish' | 'at media' | undefined
  /** Keep what the messages carry. */
  keepPayloads?: boolean
}

export interface SinkMessage {
  readonly kind: MediaKind
  /** Milliseconds as on the wire. */
  readonly timestamp: number
  readonly streamId: number
  readonly bytes: number
  readonly checksum: number
  readonly isHeader: boolean
  readonly isKeyframe: boolean
  /** Monotonic milliseconds. */
  readonly at: number
  readonly payload?: Buffer
}

const KINDS: Record<number, MediaKind | undefined> = { 8: 'audio', 9: 'video', 18: 'data' }
const HANDSHAKE_BYTES = 1_536

/** One publisher's connection to a sink, and all that came over it. */
export class SinkConnection {
  readonly commands: { name: string; values: AmfValue[] }[] = []
  readonly messages: SinkMessage[] = []
  readonly openedAt = performance.now()
  /** Monotonic milliseconds; null until Publish.Start was sent. */
  publishedAt: number | null = null
  streamKey: string | null = null
  /** The body of the newest video configuration. */
  videoHeader: Buffer | null = null
  closed = false
  /** Monotonic milliseconds; null while it is open. */
  closedAt: number | null = null
  pongs = 0
  readonly #kept: Buffer[] = []
  readonly socket: Socket
  readonly #behaviour: SinkBehaviour
  readonly #isKept: (key: string) => boolean
  readonly #encoder = new ChunkEncoder()
  readonly #reader: ChunkReader
  #received = Buffer.alloc(0)
  #shaken = false
  #window = 0
  #acknowledged = 0
  #stalled = false

  constructor(socket: Socket, behaviour: SinkBehaviour, isKept: (key: string) => boolean) {
    this.socket = socket
    this.#isKept = isKept
    this.#behaviour = behaviour
    this.#reader = new ChunkReader({
      maxMessageBytes: 16 * 1024 * 1024,
      maxChunkStreams: 64,
      maxBufferedBytes: 64 * 1024 * 1024,
      onMessage: (message) => this.#onMessage(message),
    })
    socket.on('data', (bytes: Buffer) => this.#onData(bytes))
    // Whatever ends the connection shows as `closed`.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
      this.closedAt = performance.now()
    })
  }

  /** `tcUrl`, `app` and whatever else `connect` carried. */
  get connectObject(): { [key: string]: AmfValue } {
    const [object] = this.commands.find(({ name }) => name === 'connect')?.values ?? []
    return object as { [key: string]: AmfValue }
  }

  of(kind: MediaKind): SinkMessage[] {
    return this.messages.filter((message) => message.kind === kind)
  }

  /** The sound and pictures that were sent as an FLV file, where the sink keeps them. */
  film(): Buffer {
    return Buffer.concat([flvHeader({ audio: true, video: true }), ...this.#kept])
  }

  /** Stops reading, as a server does that hangs. */
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
    if (this.#shaken) this.#read(bytes)
    else this.#shakeHands(bytes)
  }

  #shakeHands(bytes: Buffer): void {
    const before = this.#received.length
    this.#received = Buffer.concat([this.#received, bytes])
    const first = 1 + HANDSHAKE_BYTES
    if (before < first && this.#received.length >= first) {
      this.socket.write(Buffer.concat([Buffer.alloc(first, 3), this.#received.subarray(1, first)]))
    }
    if (this.#received.length < first + HANDSHAKE_BYTES) return
    this.#shaken = true
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
    if (kind !== undefined) this.#take(describe(kind, message), message.payload)
    else if (message.type === 20) this.#onCommand(decodeAmf0(message.payload))
    else if (message.type === 5) this.#window = message.payload.readUInt32BE()
    else if (message.type === 4 && message.payload.readUInt16BE() === 7) this.pongs += 1
  }

  #take(message: SinkMessage, payload: Buffer): void {
    this.messages.push(this.#behaviour.keepPayloads === true ? { ...message, payload } : message)
    if (message.kind === 'video' && message.isHeader) this.videoHeader = payload
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
      const isKept = this.#behaviour.keepsSessions === true && this.#isKept(streamKey)
      this.streamKey = streamKey
      if (ignorePublish) return
      if (this.#behaviour.closes === 'at publish') {
        this.socket.end()
        return
      }
      if (isKept) {
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
  /** Every connection there was, the oldest first. */
  readonly connections: SinkConnection[]
  /** The newest connection. */
  last(): SinkConnection | undefined
  /** Every media message of all connections. */
  messages(kind?: MediaKind): SinkMessage[]
  /** Closes the open connections, by FIN. */
  closeConnections(): void
  /** Closes the open connections, by RST. */
  resetConnections(): void
  close(): Promise<void>
}

export interface SinkOptions extends SinkBehaviour {
  /** A free one by default. */
  readonly port?: number
  readonly host?: string
  /** PEM; makes it an RTMPS server. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** An RTMP server that takes publishers, remembers what they send, and misbehaves as told. */
export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const { port = 0, host = '127.0.0.1', tls, ...behaviour } = options
  const connections: SinkConnection[] = []
  const accept = (socket: Socket): void => {
    const isKept = (key: string) => connections.some((one) => one.streamKey === key && one.publishedAt !== null)
    connections.push(new SinkConnection(socket, behaviour, isKept))
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
  const isHeader = kind === 'data' || (payload[1] === 0 && payload.length > 2 && payload[0] !== 0x27)
  const isKeyframe = kind === 'video' && !isHeader && payload[0]! >> 4 === 1
  const checksum = crc32(payload)
  const at = performance.now()
  return { kind, timestamp, streamId, bytes: payload.length, checksum, isHeader, isKeyframe, at }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
