/**
 * The only file that uses node-media-server (4.4.3). Its RTMP server, sessions, broadcast registry and events are used
 * unchanged. Its unsafe parts are not reached:
 *
 * - Only its RTMP server is loaded. The constructor of the package would create an HTTP application and a JSON store in
 *   `./data`. Neither is loaded, so it opens no listener and writes no file.
 * - Its protocol parser is replaced in the module cache by {@link ProtocolStub}, before its sessions are loaded. The
 *   original allocates 1 MiB per connection, trusts declared lengths, and throws on all of 13 malformed commands.
 * - It does not listen: `run()`, whose error handler calls `process.exit(1)`, is not called.
 * - A session gets the path of a stream only after admission, and never a key or a query.
 * - Media does not go through its broadcast, which serializes each packet twice for its subscribers.
 * - Its logger, a singleton that prints to the console, writes to the log of the host.
 */
import { createRequire } from 'node:module'
import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { listenOn } from '../listen.ts'
import type { MediaLog } from '../types.ts'
import { withSharedReadBuffer } from './shared-read-buffer.ts'

/** The used parts of node-media-server's objects. The package has no types. */
interface NmsSession {
  readonly id: string
  readonly rtmp: unknown
}

interface NmsBroadcast {
  readonly publisher: NmsSession | null
  donePublish(session: NmsSession): void
  _finishPublish(): void
}

interface NmsContext {
  config: object
  readonly sessions: Map<string, NmsSession>
  readonly broadcasts: Map<string, NmsBroadcast>
}

interface NmsRtmpServer {
  readonly tcpServer: Server
  handleRequest(socket: Socket): void
  stop(): void
}

interface NmsLogger {
  log(message: unknown, level?: string): void
}

type NmsConnect = (request: { app: string; name: string; host: string; query: object }) => void

/** Replaces node-media-server's `Rtmp`. It has the same callbacks, but parses nothing. */
class ProtocolStub {
  /** Set by the constructor, so that {@link connect} finds the stub of the new session. */
  static latest: ProtocolStub | null = null
  onConnectCallback: NmsConnect = () => {}
  onPushCallback: () => void = () => {}
  onOutputCallback: (bytes: Buffer) => void = () => {}

  constructor() {
    ProtocolStub.latest = this
  }
}

interface Handshake {
  handshakeState: number
  handshakeBytes: number
  handshakePayload: Buffer
  onOutputCallback: (bytes: Buffer) => void
}

const APP = 'live'
const C1_BYTES = 1_536
/** Handshake state of node-media-server in which it expects C1. */
const AWAITING_C1 = 1

const require = createRequire(import.meta.url)
const source = 'node-media-server/src'
const logger = require(`${source}/core/logger.js`) as NmsLogger
const context = require(`${source}/core/context.js`) as NmsContext
const original = require(`${source}/protocol/rtmp.js`) as {
  prototype: { parserData: (this: Handshake, bytes: Buffer) => unknown }
}
require.cache[require.resolve(`${source}/protocol/rtmp.js`)]!.exports = ProtocolStub
const flv = require(`${source}/protocol/flv.js`) as { createHeader: () => Buffer }
// Each session keeps an FLV header for players. Its 13 bytes would keep 64 KiB of Node's buffer pool in memory.
const NO_HEADER = Buffer.alloc(0)
flv.createHeader = () => NO_HEADER
const RtmpServer = require(`${source}/server/rtmp_server.js`) as new () => NmsRtmpServer

/** An accepted connection in the engine. */
export interface EngineConnection {
  readonly socket: Socket
  /** Set by the owner. Called with each read; the bytes are valid until it returns. */
  onBytes: (bytes: Buffer) => void
  write(bytes: Buffer): void
  /** Registers the connection as the publisher of `/live/<path>`, which must be free. */
  publish(path: string): void
  /** Frees the path. Otherwise the engine would keep it for 30 s. */
  unpublish(): void
}

export interface EngineOptions {
  readonly log: MediaLog
  /** Called for each new TCP connection before the engine gets it. False rejects it. */
  readonly admitSocket: (socket: Socket) => boolean
  readonly onConnection: (connection: EngineConnection) => void
}

export interface Engine {
  /** Listens and returns the port. Port 0 selects a free one. Rejects when it cannot listen. */
  listen(host: string, port: number): Promise<number>
  /** Takes a connection of another listener that `admitSocket` has accepted. */
  accept(socket: Socket): void
  close(): Promise<void>
}

/** Returns S0, S1 and S2 for a C1 of 1,536 bytes, with digests if the client sent one. */
export function answerHandshake(c1: Buffer): Buffer {
  let answer: Buffer = Buffer.alloc(0)
  original.prototype.parserData.call(
    {
      handshakeState: AWAITING_C1,
      handshakeBytes: 0,
      handshakePayload: Buffer.alloc(C1_BYTES),
      onOutputCallback: (bytes) => {
        answer = bytes
      },
    },
    c1,
  )
  return answer
}

export function createEngine(options: EngineOptions): Engine {
  logger.log = (message, level) => {
    // At debug level, because our own log lines describe the sessions.
    options.log.debug({ engine: 'node-media-server', level }, String(message))
  }
  // node-media-server creates its server only with a port. listen() below sets the real one.
  context.config = { rtmp: { port: 1935 } }
  const rtmpServer = new RtmpServer()
  const { tcpServer } = rtmpServer
  const accept = (socket: Socket): void => options.onConnection(connect(rtmpServer, socket))
  tcpServer.removeAllListeners('connection')
  tcpServer.on('connection', (socket: Socket) => {
    if (options.admitSocket(socket)) accept(withSharedReadBuffer(socket))
    else socket.destroy()
  })
  return {
    accept,
    async listen(host, port) {
      const bound = await listenOn(tcpServer, host, port, { port: 'RTMP_PORT', host: 'RTMP_HOST' })
      tcpServer.on('error', (error) => options.log.error({ error: error.message }, 'rtmp listener failed'))
      return bound
    },
    async close() {
      if (!tcpServer.listening) return
      const closed = once(tcpServer, 'close')
      rtmpServer.stop()
      await closed
    },
  }
}

function connect(rtmpServer: NmsRtmpServer, socket: Socket): EngineConnection {
  rtmpServer.handleRequest(socket)
  const stub = ProtocolStub.latest
  ProtocolStub.latest = null
  if (stub === null) throw new Error('node-media-server created a session without the protocol stub')
  let published: { broadcast: NmsBroadcast; session: NmsSession } | null = null
  const connection: EngineConnection = {
    socket,
    onBytes: () => {},
    write: (bytes) => {
      if (!socket.destroyed && socket.writable) stub.onOutputCallback(bytes)
    },
    publish: (path) => {
      stub.onConnectCallback({ app: APP, name: path, host: '', query: {} })
      stub.onPushCallback()
      const broadcast = context.broadcasts.get(`/${APP}/${path}`)
      const session = broadcast?.publisher
      if (broadcast === undefined || session?.rtmp !== stub)
        throw new Error(`node-media-server did not register the publisher of ${path}`)
      published = { broadcast, session }
    },
    unpublish: () => {
      if (published === null) return
      const { broadcast, session } = published
      published = null
      broadcast.donePublish(session)
      broadcast._finishPublish()
    },
  }
  // The listener of node-media-server's session would pass the bytes to the stub.
  socket.removeAllListeners('data')
  socket.on('data', (bytes: Buffer) => connection.onBytes(bytes))
  return connection
}
