import type { Connection, ConnectionHandlers, Listener } from '../ports.ts'
import { decodeRequest, encodeReply, FrameError, PONG, TYPE, type Reply, type Request } from './frames.ts'
import { checkAuth, encodeHello, encodeWelcome, LONGEST_HANDSHAKE_FRAME } from './handshake.ts'
import type { LinkSettings } from './settings.ts'

export interface LinkServerOptions extends LinkSettings {
  /** Runs a command of another node, and calls `reply` once. */
  readonly onRequest: (request: Request, reply: (reply: Reply) => void) => void
  /** The actors that this node owns, as JSON. */
  readonly onOwners: () => string
}

/** Accepts connections from other nodes and replies to their requests. */
export class LinkServer {
  readonly #options: LinkServerOptions
  readonly #peers = new Set<Peer>()
  #listener: Listener | undefined

  constructor(options: LinkServerOptions) {
    this.#options = options
  }

  /** @returns the address for the directory */
  async listen(): Promise<string> {
    this.#listener = await this.#options.transport.listen((connection) => this.#accept(connection))
    return this.#listener.address
  }

  close(): void {
    this.#listener?.close()
    for (const peer of this.#peers) peer.close()
  }

  #accept(connection: Connection): ConnectionHandlers {
    const peer = new Peer(connection, this.#options, () => this.#peers.delete(peer))
    this.#peers.add(peer)
    const unauthenticated = [...this.#peers].filter((other) => !other.isAuthenticated)
    if (unauthenticated.length > this.#options.limits.maxUnauthenticated) unauthenticated[0]?.close()
    return peer
  }
}

/** A connection from another node. It is unauthenticated until the peer has proved that it knows the secret. */
class Peer implements ConnectionHandlers {
  readonly #connection: Connection
  readonly #options: LinkServerOptions
  readonly #onClosed: () => void
  readonly #nonce: Uint8Array
  #inFlight = 0
  /** Ids of recent requests, in two generations, to ignore duplicate frames. */
  #seen = new Set<number>()
  #seenBefore = new Set<number>()
  /** Checks since the peer was last heard. */
  #silentChecks = 0
  #cancelTimer: () => void
  #isClosed = false
  isAuthenticated = false

  constructor(connection: Connection, options: LinkServerOptions, onClosed: () => void) {
    this.#connection = connection
    this.#options = options
    this.#onClosed = onClosed
    this.#nonce = options.random.bytes(32)
    this.#cancelTimer = options.clock.after(options.limits.handshakeMs, () => this.close())
    connection.send(encodeHello(this.#nonce))
  }

  frame(frame: Buffer): void {
    if (this.#isClosed) return
    this.#silentChecks = 0
    try {
      if (this.isAuthenticated) this.#receive(frame)
      else this.#authenticate(frame)
    } catch (error) {
      this.#options.onError(error)
      this.close()
    }
  }

  drained(): void {
    this.#connection.resumeReading()
  }

  closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancelTimer()
    this.#onClosed()
  }

  close(): void {
    this.#connection.close()
    this.closed()
  }

  #authenticate(frame: Buffer): void {
    if (frame.length > LONGEST_HANDSHAKE_FRAME) throw new FrameError('a handshake frame is too long')
    const { secret } = this.#options
    const clientNonce = checkAuth(secret, this.#nonce, frame)
    this.#connection.send(encodeWelcome(secret, this.#nonce, clientNonce))
    this.isAuthenticated = true
    this.#cancelTimer()
    this.#watchSilence()
  }

  #receive(frame: Buffer): void {
    switch (frame[0]) {
      case TYPE.request:
        this.#request(decodeRequest(frame))
        break
      case TYPE.owners:
        this.#reply(frame.readUInt32BE(2), { kind: 'value', text: this.#options.onOwners() })
        break
      case TYPE.ping:
        this.#connection.send(PONG)
        break
      default:
        throw new FrameError(`unknown frame type ${frame[0]}`)
    }
  }

  #request(request: Request): void {
    if (this.#seen.has(request.id) || this.#seenBefore.has(request.id)) return
    this.#seen.add(request.id)
    if (this.#seen.size >= 8_192) {
      this.#seenBefore = this.#seen
      this.#seen = new Set()
    }
    if (this.#inFlight >= this.#options.limits.inFlight && !request.control) {
      this.#reply(request.id, { kind: 'refused', reason: 'overloaded', retryAfter: 1 })
      return
    }
    this.#inFlight += 1
    this.#options.onRequest(request, (reply) => {
      this.#inFlight -= 1
      this.#reply(request.id, reply)
    })
  }

  /** Sends a reply. Stops reading from a peer that does not read its replies. */
  #reply(id: number, reply: Reply): void {
    if (this.#isClosed) return
    this.#connection.send(encodeReply(id, reply))
    if (this.#connection.buffered >= this.#options.limits.highWater) this.#connection.pauseReading()
  }

  #watchSilence(): void {
    const { clock, limits } = this.#options
    this.#cancelTimer = clock.after(limits.silenceMs, () => {
      this.#silentChecks += 1
      // Reading is paused while a slow peer catches up. Neither that nor a pause of this process is silence of the peer.
      if (this.#silentChecks > 3) this.close()
      else this.#watchSilence()
    })
  }
}
