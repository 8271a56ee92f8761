import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { ClientHandshake } from '../rtmp/client-handshake.ts'
import { RtmpProtocolError } from '../rtmp/errors.ts'
import type { DestinationState } from '../types.ts'
import type { DestinationTarget } from './destination-url.ts'
import { Fault, faultOfSocketError } from './fault.ts'
import { Progress } from './progress.ts'
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
  /** For what is still queued when a connection is closed. */
  readonly closeMs: number
}

export interface PushConnectionOptions {
  readonly target: DestinationTarget
  readonly streamKey: string
  readonly allowPrivateAddresses: boolean
  readonly timeouts: ConnectionTimeouts
  /** Certificate authorities instead of the system's, PEM. For tests. */
  readonly ca: string | undefined
  /** A server that closes sooner than this after it accepted the stream probably closes because of the key. */
  readonly provenMs: number
  /** See {@link Progress}. */
  readonly trustsSilence: boolean
}

export interface PushConnectionHandlers {
  readonly onStep: (step: Extract<DestinationState, 'resolving' | 'connecting' | 'handshake' | 'publishing'>) => void
  readonly onReady: (messageStreamId: number) => void
  /** The server acknowledged; {@link PushConnection.progress} says how much. */
  readonly onAcknowledgement: () => void
  /** The socket takes bytes again. */
  readonly onDrain: () => void
  /** Called once, and not after {@link PushConnection.close} or {@link PushConnection.destroy}. */
  readonly onFault: (fault: Fault) => void
}

/** One attempt to publish to one server: from the name to Publish.Start, then a pipe for media. */
export class PushConnection {
  readonly progress: Progress
  readonly #options: PushConnectionOptions
  readonly #handlers: PushConnectionHandlers
  readonly #session: PublishSession
  readonly #handshake = new ClientHandshake()
  #socket: Socket | null = null
  #timer: NodeJS.Timeout | undefined
  #step: 'resolving' | 'connecting' | 'handshake' | 'publishing' | 'ready' = 'resolving'
  /** Monotonic: when the server accepted the stream. */
  #publishingAt: number | null = null
  #over = false

  constructor(options: PushConnectionOptions, handlers: PushConnectionHandlers) {
    this.#options = options
    this.#handlers = handlers
    this.progress = new Progress(performance.now(), options.trustsSilence)
    const { target, streamKey } = options
    this.#session = new PublishSession(
      { app: target.app, tcUrl: target.tcUrl, streamKey },
      {
        send: (bytes) => this.write(bytes),
        onPublishing: (messageStreamId) => this.#onPublishing(messageStreamId),
        onAcknowledgement: (sequence) => {
          this.progress.rtmp(sequence, performance.now())
          handlers.onAcknowledgement()
        },
      },
    )
  }

  /** The connected socket, for a look at what TCP holds of it. */
  get socket(): Socket | null {
    return this.#socket
  }

  /** Bytes written that the kernel has not taken yet. */
  get heldBytes(): number {
    return this.#socket?.writableLength ?? 0
  }

  /** More would only be held in memory; {@link PushConnectionHandlers.onDrain} tells when that is over. */
  get blocked(): boolean {
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
    if (this.#over || this.#socket === null) return
    this.progress.sent(bytes.length)
    this.#socket.write(bytes)
  }

  /** Holds writes back until {@link uncork}, to hand them to the kernel in one call. */
  cork(): void {
    this.#socket?.cork()
  }

  uncork(): void {
    this.#socket?.uncork()
  }

  /** Ends the stream as RTMP asks for, sends what is queued, closes. Resolves when the socket is gone. */
  async close(): Promise<void> {
    const socket = this.#socket
    if (this.#over || socket === null || this.#step !== 'ready') {
      this.destroy()
      return
    }
    this.#session.end()
    this.#finish()
    if (socket.destroyed) return
    // Destroying at once could reset the connection, and the server would lose what it has not read: it closes first.
    socket.end()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => socket.destroy(), this.#options.timeouts.closeMs)
      socket.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Drops the connection with all it holds. */
  destroy(): void {
    this.#finish()
    this.#socket?.destroy()
  }

  #connect(addresses: readonly ResolvedAddress[]): void {
    if (this.#over) return
    this.#enter('connecting', this.#options.timeouts.connectMs, 'connect_timeout', 'The server did not answer.')
    const { target, ca } = this.#options
    const single = addresses.length === 1 ? addresses[0] : undefined
    // Node asks `lookup` for a name's addresses and gets those that were checked: the name is never resolved again.
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
      this.#fail(new Fault('address_refused', 'The connection went to an address that was not checked.'))
      return
    }
    const words = 'The server did not answer the RTMP handshake.'
    this.#enter('handshake', this.#options.timeouts.handshakeMs, 'handshake_failed', words)
    this.write(this.#handshake.hello())
  }

  #onData(bytes: Buffer): void {
    if (this.#over) return
    try {
      if (this.#step === 'handshake') this.#shakeHands(bytes)
      else this.#session.push(bytes)
    } catch (error) {
      this.#fail(error)
    }
  }

  #shakeHands(bytes: Buffer): void {
    const { reply, rest } = this.#handshake.push(bytes)
    if (reply.length > 0) this.write(reply)
    if (rest === null) return
    const words = 'The server did not accept the stream in time.'
    this.#enter('publishing', this.#options.timeouts.publishMs, 'publish_timeout', words)
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
    words: string,
  ) {
    clearTimeout(this.#timer)
    this.#step = step
    this.#timer = setTimeout(() => this.#fail(new Fault(code, words)), ms)
    this.#handlers.onStep(step)
  }

  #socketFault(error: Error): Fault {
    const fault = faultOfSocketError(error, this.#step === 'connecting' ? 'connect' : 'established')
    return fault.code === 'closed_by_peer' ? this.#closedByPeer() : fault
  }

  /** Whether the server has taken the stream for long enough that its key is not what made it close. */
  #hasLasted(): boolean {
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
        return this.#hasLasted()
          ? new Fault('closed_by_peer', 'The server closed the connection.')
          : new Fault('closed_on_publish', 'The server closed the connection right after it accepted the stream.')
    }
  }

  #fail(error: unknown): void {
    if (this.#over) return
    this.destroy()
    if (error instanceof Fault) this.#handlers.onFault(error)
    else if (error instanceof RtmpProtocolError) {
      const code = this.#step === 'handshake' ? 'handshake_failed' : 'protocol'
      this.#handlers.onFault(new Fault(code, `The server broke the protocol (${error.message}).`))
    } else this.#handlers.onFault(new Fault('protocol', 'An internal error ended the connection.', error))
  }

  #finish(): void {
    this.#over = true
    clearTimeout(this.#timer)
  }
}
