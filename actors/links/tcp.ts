import {
  connect as connectTcp,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import type { Connection, ConnectionHandlers, Transport } from '../ports.ts'
import type { LinkTls } from './certificates.ts'

export interface TcpTransportOptions {
  /** Address and port to listen on. Port 0 picks a free port. */
  readonly host: string
  readonly port: number
  /** Host or host:port at which other nodes reach this node, if it is not `host`. */
  readonly advertise?: string
  /** Certificates for links outside a private network. Called for each connection. */
  readonly tls?: () => LinkTls
  /** Called when a TLS connection fails, at a limited rate. Network errors are not reported. */
  readonly onError?: (error: Error) => void
}

/** Minimum interval between reports of the same failure. */
const TELL_EVERY_MS = 10_000
const NETWORK_FAULTS = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET)/

/** Maximum length of a frame. A peer that announces a longer one is disconnected. */
const LONGEST_FRAME = 32 << 20
/** Timeout of the TLS handshake. The handshake of the link has its own timeout. */
const HANDSHAKE_MS = 2_000

/** Sends frames over TCP or TLS. Each frame is preceded by its length in 4 bytes, big-endian. */
export function tcpTransport(options: TcpTransportOptions): Transport {
  let toldAt = Number.NEGATIVE_INFINITY
  const tell = (error: NodeJS.ErrnoException) => {
    const now = performance.now()
    if (NETWORK_FAULTS.test(error.code ?? '') || now - toldAt < TELL_EVERY_MS) return
    toldAt = now
    options.onError?.(error)
  }
  return {
    connect: (address, handlers) => {
      const { host, port } = splitAddress(address)
      // Nodes are authenticated by their certificate authority and the secret, not by host names.
      const socket = options.tls
        ? connectTls({ host, port, ...options.tls(), ...TLS, checkServerIdentity: () => undefined })
        : connectTcp({ host, port })
      const connection = new TcpConnection(socket, tell)
      connection.attach(handlers)
      return connection
    },
    listen: async (accept) => {
      const sockets = new Set<Socket>()
      const onSocket = (socket: Socket) => {
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        const connection = new TcpConnection(socket, tell)
        connection.attach(accept(connection))
      }
      const server: Server = options.tls ? tlsServer(options.tls, onSocket, tell) : createTcpServer(onSocket)
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(options.port, options.host, resolve)
      })
      const { port } = server.address() as AddressInfo
      return {
        address: advertised(options, port),
        close: () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        },
      }
    },
  }
}

/** Both ends run this program, so no older version of TLS is needed. */
const TLS = { minVersion: 'TLSv1.3' } as const

function tlsServer(tls: () => LinkTls, onSocket: (socket: Socket) => void, onError: (error: Error) => void): Server {
  let shown = tls()
  const options = { ...TLS, requestCert: true, handshakeTimeout: HANDSHAKE_MS }
  const server = createTlsServer({ ...shown, ...options }, onSocket)
  server.on('tlsClientError', onError)
  server.prependListener('connection', () => {
    const now = tls()
    if (now !== shown) server.setSecureContext({ ...now, ...TLS })
    shown = now
  })
  return server
}

function advertised(options: TcpTransportOptions, port: number): string {
  const name = options.advertise ?? options.host
  if (/^\[.*\]:\d+$|^[^:]+:\d+$/.test(name)) return name
  return name.includes(':') ? `[${name.replace(/^\[|\]$/g, '')}]:${port}` : `${name}:${port}`
}

function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}

class TcpConnection implements Connection {
  readonly #socket: Socket
  readonly #onError: (error: Error) => void
  #handlers: ConnectionHandlers | undefined
  #chunks: Buffer[] = []
  #received = 0
  #out: Buffer[] = []
  #outBytes = 0
  #closed = false

  constructor(socket: Socket, onError: (error: Error) => void) {
    this.#socket = socket
    this.#onError = onError
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 5_000)
  }

  attach(handlers: ConnectionHandlers): void {
    this.#handlers = handlers
    const socket = this.#socket
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('drain', () => handlers.drained())
    socket.on('error', this.#onError)
    socket.on('close', () => this.#end())
  }

  get buffered(): number {
    return this.#outBytes + this.#socket.writableLength
  }

  /** Sends all frames of one iteration of the event loop in one write. */
  send(frame: Buffer): void {
    if (this.#closed) return
    if (this.#out.length === 0) setImmediate(() => this.#write())
    this.#out.push(frame)
    this.#outBytes += 4 + frame.length
  }

  pauseReading(): void {
    this.#socket.pause()
  }

  resumeReading(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.destroy()
    this.#end()
  }

  #write(): void {
    const out = Buffer.allocUnsafe(this.#outBytes)
    let offset = 0
    for (const frame of this.#out) {
      out.writeUInt32BE(frame.length, offset)
      out.set(frame, offset + 4)
      offset += 4 + frame.length
    }
    this.#out = []
    this.#outBytes = 0
    // `drained` is called when buffered bytes were sent. Below the high-water mark nothing waits for it.
    if (!this.#closed && this.#socket.write(out)) this.#handlers?.drained()
  }

  #end(): void {
    if (this.#closed) return
    this.#closed = true
    this.#handlers?.closed()
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#received += chunk.length
    if (this.#received < 4) return
    let data = this.#chunks.length === 1 ? chunk : undefined
    const needed = this.#needed()
    if (needed > LONGEST_FRAME) {
      this.close()
      return
    }
    if (this.#received < 4 + needed) return
    data ??= Buffer.concat(this.#chunks, this.#received)
    let offset = 0
    while (offset + 4 <= data.length && !this.#closed) {
      const length = data.readUInt32BE(offset)
      if (offset + 4 + length > data.length) break
      this.#handlers?.frame(data.subarray(offset + 4, offset + 4 + length))
      offset += 4 + length
    }
    const rest = data.subarray(offset)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#received = rest.length
  }

  /** Length of the frame that is being received. */
  #needed(): number {
    const first = this.#chunks[0] as Buffer
    if (first.length >= 4) return first.readUInt32BE(0)
    return Buffer.concat(this.#chunks, this.#received).readUInt32BE(0)
  }
}
