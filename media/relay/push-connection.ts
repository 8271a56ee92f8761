import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { ClientHandshake } from '../rtmp/client-handshake.ts'
import { RtmpProtocolError } from '../rtmp/errors.ts'
import type { DestinationState } from '../types.ts'
import type { DestinationTarget } from '../../src/tools/destination-url.ts'
import { Fault, faultOfSocketError } from './fault.ts'
import { DeliveryProgress } from './delivery-progress.ts'
import { PublishSession } from './publish-session.ts'
import { resolveHost, type ResolvedAddress } from './resolve.ts'

/** How long each step of a connection may take, milliseconds. */
export interface ConnectionTimeouts {
  readonly resolveMs: number
  /** TCP and TLS together. */
  readonly connectMs: number
  readonly handshakeMs: number
  /** From `connect` to Publish.Start. */
  readonly publishMs: number
  /** For sending queued data when a connection is closed. */
  readonly closeMs: number
}

export interface PushConnectionOptions {
  readonly target: DestinationTarget
  readonly streamKey: string
  readonly allowPrivateAddresses: boolean
  readonly timeouts: ConnectionTimeouts
  /** Certificate authorities that replace the system's, PEM. For tests. */
  readonly ca: string | undefined
  /** A server that closes the connection sooner than this after Publish.Start probably rejects the key. */
  readonly provenMs: number
  /** See {@link DeliveryProgress}. */
  readonly expectsAcknowledgements: boolean
}

export interface PushConnectionHandlers {
  readonly onStep: (step: Extract<DestinationState, 'resolving' | 'connecting' | 'handshake' | 'publishing'>) => void
  readonly onReady: (messageStreamId: number) => void
  /** The server acknowledged bytes, which {@link PushConnection.progress} has counted. */
  readonly onAcknowledgement: () => void
  /** The socket accepts bytes again. */
  readonly onDrain: () => void
  /** Called once, and not after {@link PushConnection.close} or {@link PushConnection.destroy}. */
  readonly onFault: (fault: Fault) => void
}

/** One attempt to publish to one server: it resolves the name, connects, publishes, and then carries media. */
export class PushConnection {
  readonly progress: DeliveryProgress
  readonly #options: PushConnectionOptions
  readonly #handlers: PushConnectionHandlers
  readonly #session: PublishSession
  readonly #handshake = new ClientHandshake()
  #socket: Socket | null = null
  #timer: NodeJS.Timeout | undefined
  #step: 'resolving' | 'connecting' | 'handshake' | 'publishing' | 'ready' = 'resolving'
  /** When the server accepted the stream, monotonic. */
  #publishingAt: number | null = null
  #isEnded = false

  constructor(options: PushConnectionOptions, handlers: PushConnectionHandlers) {
    this.#options = options
    this.#handlers = handlers
    this.progress = new DeliveryProgress(performance.now(), options.expectsAcknowledgements)
    const { target, streamKey } = options
    this.#session = new PublishSession(
      { app: target.app, tcUrl: target.tcUrl, streamKey },
      {
        send: (bytes) => this.write(bytes),
        onPublishing: (messageStreamId) => this.#onPublishing(messageStreamId),
        onAcknowledgement: (sequence) => {
          this.progress.noteAcknowledgement(sequence, performance.now())
          handlers.onAcknowledgement()
        },
      },
    )
  }

  /** The connected socket, to sample its TCP state. */
  get socket(): Socket | null {
    return this.#socket
  }

  /** Bytes that were written and are still in the socket's buffer. */
  get bufferedBytes(): number {
    return this.#socket?.writableLength ?? 0
  }

  /** Whether the socket's buffer is full. {@link PushConnectionHandlers.onDrain} is called when there is room again. */
  get needsDrain(): boolean {
    const socket = this.#socket
    return socket === null || socket.writableLength >= socket.writableHighWaterMark
  }

  start(): void {
    this.#enter('resolving', this.#options.timeouts.resolveMs, 'dns_failed', 'The name lookup took too long.')
    resolveHost(this.#options.target.host, this.#options.allowPrivateAddresses).then(
      (addresses) => this.#connect(addresses),
      (error: unknown) => this.#fail(error),
    )
  }

  write(bytes: Buffer): void {
    if (this.#isEnded || this.#socket === null) return
    this.progress.noteSent(bytes.length)
    this.#socket.write(bytes)
  }

  /** Collects writes until {@link uncork}, to pass them to the kernel in one call. */
  cork(): void {
    this.#socket?.cork()
  }

  uncork(): void {
    this.#socket?.uncork()
  }

  /** Unpublishes, sends queued data, and closes. Resolves when the socket is closed. */
  async close(): Promise<void> {
    const socket = this.#socket
    if (this.#isEnded || socket === null || this.#step !== 'ready') {
      this.destroy()
      return
    }
    this.#session.unpublish()
    this.#finish()
    if (socket.destroyed) return
    // Destroying the socket at once could reset the connection, and the server would lose data that it has not read.
    socket.end()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => socket.destroy(), this.#options.timeouts.closeMs)
      socket.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Closes the connection at once and discards queued data. */
  destroy(): void {
    this.#finish()
    this.#socket?.destroy()
  }

  #connect(addresses: readonly ResolvedAddress[]): void {
    if (this.#isEnded) return
    this.#enter('connecting', this.#options.timeouts.connectMs, 'connect_timeout', 'The server did not answer.')
    const { target, ca } = this.#options
    const single = addresses.length === 1 ? addresses[0] : undefined
    // Node gets the checked addresses from `lookup`, so the name is not resolved a second time.
    const lookup: LookupFunction = (_name, options, callback) => {
      if (options.all === true) callback(null, [...addresses])
      else callback(null, addresses[0]!.address, addresses[0]!.family)
    }
    const host = isIP(target.host) > 0 && single !== undefined ? single.address : target.host
    const options = { host, port: target.port, lookup, autoSelectFamily: true, noDelay: true, keepAlive: true }
    const tls: ConnectionOptions = { ...options, minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) }
    if (isIP(host) === 0) tls.servername = target.host
    const socket = target.secure ? connectTls(tls) : connectTcp(options)
    this.#socket = socket
    socket.once(target.secure ? 'secureConnect' : 'connect', () => this.#onConnected(socket, addresses))
    socket.on('data', (bytes: Buffer) => this.#onData(bytes))
    socket.on('drain', this.#handlers.onDrain)
    socket.on('error', (error) => this.#fail(this.#socketFault(error)))
    socket.on('end', () => this.#fail(this.#closedByPeer()))
    socket.on('close', () => this.#fail(this.#closedByPeer()))
  }

  #onConnected(socket: Socket, addresses: readonly ResolvedAddress[]): void {
    const remote = socket.remoteAddress
    if (!this.#options.allowPrivateAddresses && !addresses.some(({ address }) => address === remote)) {
      this.#fail(new Fault('address_refused', 'The connection used an address that was not checked.'))
      return
    }
    const message = 'The server did not answer the RTMP handshake.'
    this.#enter('handshake', this.#options.timeouts.handshakeMs, 'handshake_failed', message)
    this.write(this.#handshake.hello())
  }

  #onData(bytes: Buffer): void {
    if (this.#isEnded) return
    try {
      if (this.#step === 'handshake') this.#continueHandshake(bytes)
      else this.#session.push(bytes)
    } catch (error) {
      this.#fail(error)
    }
  }

  #continueHandshake(bytes: Buffer): void {
    const { reply, rest } = this.#handshake.push(bytes)
    if (reply.length > 0) this.write(reply)
    if (rest === null) return
    const message = 'The server did not accept the stream in time.'
    this.#enter('publishing', this.#options.timeouts.publishMs, 'publish_timeout', message)
    this.#session.start()
    if (rest.length > 0) this.#session.push(rest)
  }

  #onPublishing(messageStreamId: number): void {
    clearTimeout(this.#timer)
    this.#step = 'ready'
    this.#publishingAt = performance.now()
    this.#handlers.onReady(messageStreamId)
  }

  #enter(
    step: 'resolving' | 'connecting' | 'handshake' | 'publishing',
    ms: number,
    code: Fault['code'],
    message: string,
  ) {
    clearTimeout(this.#timer)
    this.#step = step
    this.#timer = setTimeout(() => this.#fail(new Fault(code, message)), ms)
    this.#handlers.onStep(step)
  }

  #socketFault(error: Error): Fault {
    const fault = faultOfSocketError(error, this.#step === 'connecting' ? 'connect' : 'established')
    return fault.code === 'closed_by_peer' ? this.#closedByPeer() : fault
  }

  /** Whether the server has accepted media for so long that the key is not the reason for closing. */
  #isKeyProven(): boolean {
    return this.#publishingAt !== null && performance.now() - this.#publishingAt >= this.#options.provenMs
  }

  #closedByPeer(): Fault {
    switch (this.#step) {
      case 'connecting':
        return this.#options.target.secure
          ? new Fault('tls_failed', 'TLS failed: the server closed the connection.')
          : new Fault('closed_by_peer', 'The server closed the connection.')
      case 'handshake':
        return new Fault('handshake_failed', 'The server closed the connection during the RTMP handshake.')
      case 'publishing':
        return new Fault('closed_on_publish', 'The server closed the connection before it accepted the stream.')
      default:
        return this.#isKeyProven()
          ? new Fault('closed_by_peer', 'The server closed the connection.')
          : new Fault('closed_on_publish', 'The server closed the connection right after it accepted the stream.')
    }
  }

  #fail(error: unknown): void {
    if (this.#isEnded) return
    this.destroy()
    if (error instanceof Fault) this.#handlers.onFault(error)
    else if (error instanceof RtmpProtocolError) {
      const code = this.#step === 'handshake' ? 'handshake_failed' : 'protocol'
      this.#handlers.onFault(new Fault(code, `The server violated the RTMP protocol (${error.message}).`))
    } else this.#handlers.onFault(new Fault('protocol', 'An internal error ended the connection.', error))
  }

  #finish(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }
}
