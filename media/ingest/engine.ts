/**
 * The one place that knows node-media-server (4.4.3). Its RTMP server, sessions, broadcast registry and events run
 * here as the package ships them; what cannot be trusted is never reached:
 *
 * - Only its RTMP server is loaded. Its constructor would build an HTTP application and a JSON store in `./data`;
 *   neither is ever required, so there is no listener, recorder, relay, web hook or file of its making.
 * - Its protocol parser is replaced in the module cache, before its sessions are loaded, by {@link ProtocolSlot}. The
 *   original allocates 1 MiB for every connection, takes lengths on trust, and throws on 13 of 13 bad commands.
 * - It never listens by itself: `run()`, whose error handler calls `process.exit(1)`, is not called.
 * - A session is told of a stream only after admission, and only its public path: never a key, never a query.
 * - Media does not go through its broadcast, which serialises each packet twice for subscribers we do not have.
 * - Its logger, a singleton that prints to the console, writes to the host's log.
 */
import { createRequire } from 'node:module'
import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { listenOn } from '../listen.ts'
import type { MediaLog } from '../types.ts'
import { withSharedReads } from './shared-reads.ts'

/** The parts of node-media-server's objects that are used; the package has no types. */
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

/** Takes the place of node-media-server's `Rtmp`: the same callbacks, for bytes that are parsed elsewhere. */
class ProtocolSlot {
  static latest: ProtocolSlot | null = null
  onConnectCallback: NmsConnect = () => {}
  onPushCallback: () => void = () => {}
  onOutputCallback: (bytes: Buffer) => void = () => {}

  constructor() {
    ProtocolSlot.latest = this
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
/** State of its handshake in which it takes C1. */
const AWAITING_C1 = 1

const require = createRequire(import.meta.url)
const source = 'node-media-server/src'
const logger = require(`${source}/core/logger.js`) as NmsLogger
const context = require(`${source}/core/context.js`) as NmsContext
const original = require(`${source}/protocol/rtmp.js`) as {
  prototype: { parserData: (this: Handshake, bytes: Buffer) => unknown }
}
require.cache[require.resolve(`${source}/protocol/rtmp.js`)]!.exports = ProtocolSlot
const flv = require(`${source}/protocol/flv.js`) as { createHeader: () => Buffer }
// Every session keeps one for players that there are not: 13 bytes of Node's pool, and with them all 64 KiB of it.
const NO_HEADER = Buffer.alloc(0)
flv.createHeader = () => NO_HEADER
const RtmpServer = require(`${source}/server/rtmp_server.js`) as new () => NmsRtmpServer

/** One accepted connection as the engine sees it. */
export interface EngineConnection {
  readonly socket: Socket
  /** Set by the owner: called with all that the peer sends. The bytes are the owner's until it returns. */
  onBytes: (bytes: Buffer) => void
  write(bytes: Buffer): void
  /** Becomes the publisher of `/live/<path>`; there must be none. */
  publish(path: string): void
  /** Gives the path up at once: without this the engine holds it for 30 s. */
  unpublish(): void
}

export interface EngineOptions {
  readonly log: MediaLog
  /** Called for every new TCP connection before the engine sees it; false refuses it. */
  readonly admitSocket: (socket: Socket) => boolean
  readonly onConnection: (connection: EngineConnection) => void
}

export interface Engine {
  /** Rejects when the port cannot be had. Port 0 takes a free one. */
  listen(host: string, port: number): Promise<number>
  /** Takes a connection that came in by another way; it has been admitted. */
  accept(socket: Socket): void
  close(): Promise<void>
}

/** Answers C1 (1,536 bytes) with S0, S1 and S2, in the digest form when the client used it. */
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
    // What it says of sessions is said better by ours; at debug level it helps to compare the two.
    options.log.debug({ engine: 'node-media-server', level }, String(message))
  }
  // The number only makes it create its server: the port listened on is given to listen() below.
  context.config = { rtmp: { port: 1935 } }
  const rtmpServer = new RtmpServer()
  const { tcpServer } = rtmpServer
  const accept = (socket: Socket): void => options.onConnection(connect(rtmpServer, socket))
  tcpServer.removeAllListeners('connection')
  tcpServer.on('connection', (socket: Socket) => {
    if (options.admitSocket(socket)) accept(withSharedReads(socket))
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
  const slot = ProtocolSlot.latest
  ProtocolSlot.latest = null
  if (slot === null) throw new Error('node-media-server made a session without our protocol')
  let published: { broadcast: NmsBroadcast; session: NmsSession } | null = null
  const connection: EngineConnection = {
    socket,
    onBytes: () => {},
    write: (bytes) => {
      if (!socket.destroyed && socket.writable) slot.onOutputCallback(bytes)
    },
    publish: (path) => {
      slot.onConnectCallback({ app: APP, name: path, host: '', query: {} })
      slot.onPushCallback()
      const broadcast = context.broadcasts.get(`/${APP}/${path}`)
      const session = broadcast?.publisher
      if (broadcast === undefined || session?.rtmp !== slot)
        throw new Error(`the engine did not take publisher ${path}`)
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
  // Its session would hand them to the slot.
  socket.removeAllListeners('data')
  socket.on('data', (bytes: Buffer) => connection.onBytes(bytes))
  return connection
}
