import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { decodeAmf0, encodeAmf0 } from '../rtmp/amf0.ts'
import type { AmfValue } from '../rtmp/amf0.ts'
import { ChunkReader } from '../rtmp/chunk-reader.ts'
import type { RtmpMessage } from '../rtmp/chunk-reader.ts'
import { ChunkEncoder } from './chunk-encoder.ts'

export interface TestPublisherOptions {
  readonly port: number
  readonly host?: string
  readonly app?: string
  /** Keeps the connection open after the server's FIN. */
  readonly ignoreFin?: boolean
  /** Connects by TLS. `ca` is the trusted authority. */
  readonly tls?: { readonly ca: string; readonly servername?: string }
}

export interface ServerStatus {
  readonly level: string
  readonly code: string
  readonly description: string
}

const AUDIO = 8
const VIDEO = 9
const DATA = 18
const COMMAND = 20
const HANDSHAKE_BYTES = 1 + 1_536 * 2

/**
 * A publisher for tests and benchmarks. Its methods follow the protocol; `write` sends any bytes. Timestamps are
 * milliseconds modulo 2^32.
 */
export class TestPublisher {
  readonly socket: Socket
  readonly encoder = new ChunkEncoder()
  /** All messages of the server after the handshake. */
  readonly messages: RtmpMessage[] = []
  readonly statuses: ServerStatus[] = []
  /** Resolves when the socket is closed by either side. */
  readonly closed: Promise<void>
  #handshake: Buffer = Buffer.alloc(0)
  #waiting: (() => void)[] = []
  readonly #reader = new ChunkReader({
    maxMessageBytes: 65_536,
    maxChunkStreams: 16,
    maxBufferedBytes: 65_536,
    onMessage: (message) => this.#message(message),
  })

  /** Uses an open socket. Most tests call {@link TestPublisher.connect}. */
  constructor(socket: Socket) {
    this.socket = socket
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('data', (bytes: Buffer) => this.#bytes(bytes))
    // A reset also resolves `closed`.
    socket.on('error', () => {})
    socket.once('close', () => this.#wake())
    socket.once('end', () => this.#wake())
  }

  /** Opens a connection, does the handshake, and sends `connect` and `createStream`. */
  static async connect(options: TestPublisherOptions): Promise<TestPublisher> {
    const publisher = await TestPublisher.open(options)
    await publisher.handshake()
    publisher.command('connect', 1, {
      app: options.app ?? 'live',
      tcUrl: `rtmp://${options.host ?? '127.0.0.1'}:${options.port}/${options.app ?? 'live'}`,
    })
    await publisher.until(() => publisher.messages.some((message) => message.type === COMMAND))
    publisher.command('createStream', 2, null)
    return publisher
  }

  /** Opens a connection and sends nothing. */
  static async open(options: TestPublisherOptions): Promise<TestPublisher> {
    const address = { port: options.port, host: options.host ?? '127.0.0.1', noDelay: true }
    const { tls } = options
    const socket: Socket = tls
      ? connectTls({ ...address, ...tls })
      : connect({ ...address, allowHalfOpen: options.ignoreFin ?? false })
    await once(socket, tls ? 'secureConnect' : 'connect')
    return new TestPublisher(socket)
  }

  async handshake(): Promise<void> {
    this.write(Buffer.concat([Buffer.of(3), Buffer.alloc(8), randomBytes(1_528)]))
    await this.until(() => this.#handshake.length >= HANDSHAKE_BYTES)
    this.write(this.#handshake.subarray(1, 1_537))
  }

  /** Sends `publish` and waits for its status; null when the connection was closed without one. */
  async publish(key: string): Promise<ServerStatus | null> {
    const before = this.statuses.length
    this.command('publish', 3, null, key, 'live')
    await this.until(() => this.statuses.length > before)
    return this.statuses.length > before ? this.statuses.at(-1)! : null
  }

  command(name: string, transaction: number, ...values: AmfValue[]): void {
    this.send(COMMAND, 0, encodeAmf0(name, transaction, ...values), { chunkStreamId: 3 })
  }

  metadata(values: { [key: string]: AmfValue }, timestamp = 0): void {
    this.send(DATA, timestamp, encodeAmf0('@setDataFrame', 'onMetaData', values))
  }

  video(timestamp: number, payload: Buffer): void {
    this.send(VIDEO, timestamp, payload)
  }

  audio(timestamp: number, payload: Buffer): void {
    this.send(AUDIO, timestamp, payload)
  }

  send(type: number, timestamp: number, payload: Buffer, { chunkStreamId = type === COMMAND ? 3 : type } = {}): void {
    this.write(this.encoder.encode({ type, streamId: type === COMMAND ? 0 : 1, chunkStreamId, timestamp, payload }))
  }

  setChunkSize(size: number): void {
    this.write(this.encoder.changeChunkSize(size))
  }

  write(bytes: Buffer): void {
    if (this.socket.writable) this.socket.write(bytes)
  }

  close(): void {
    this.socket.destroy()
  }

  /** Waits until `condition` holds or the server has closed the connection, at most 5 s. */
  async until(condition: () => boolean): Promise<void> {
    const deadline = performance.now() + 5_000
    while (!condition() && !this.socket.destroyed && !this.socket.readableEnded) {
      if (performance.now() > deadline) throw new Error('the server did not answer in 5 s')
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100)
        this.#waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  #bytes(bytes: Buffer): void {
    const missing = HANDSHAKE_BYTES - this.#handshake.length
    if (missing > 0) this.#handshake = Buffer.concat([this.#handshake, bytes.subarray(0, missing)])
    if (bytes.length > missing) this.#reader.push(bytes.subarray(Math.max(0, missing)))
    this.#wake()
  }

  #message(message: RtmpMessage): void {
    this.messages.push(message)
    if (message.type !== COMMAND) return
    const [name, , , info] = decodeAmf0(message.payload)
    if (name !== 'onStatus' && name !== '_error') return
    this.statuses.push({ ...(info as unknown as ServerStatus) })
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resume of waiting) resume()
  }
}
