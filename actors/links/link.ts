import type { Connection } from '../ports.ts'
import type { LinkStats } from '../types.ts'
import { decodeReply, encodeOwners, encodeRequest, PING, TYPE, type Reply, type Request } from './frames.ts'
import { checkWelcome, decodeHello, encodeAuth } from './handshake.ts'
import type { LinkSettings } from './settings.ts'

/** `unsent`: not sent. `lost`: sent, with an unknown outcome. */
export type LinkResult = Reply | { readonly kind: 'unsent' } | { readonly kind: 'lost' }

type Waiter = (result: LinkResult) => void

interface Queued {
  readonly frame: Buffer
  readonly id: number
}

/**
 * The client end of a connection to another node. It is not reconnected. When the connection breaks, every call settles as
 * `lost` or `unsent`, and the next call opens a new link.
 */
export class Link {
  readonly address: string
  readonly #settings: LinkSettings
  readonly #connection: Connection
  readonly #onClosed: () => void
  readonly #waiters = new Map<number, Waiter>()
  readonly #sent = new Set<number>()
  #control: Queued[] = []
  #normal: Queued[] = []
  #state: LinkStats['state'] = 'connecting'
  #serverNonce: Buffer | undefined
  readonly #clientNonce: Uint8Array
  #lastId = 0
  /** Pings since the peer was last heard. */
  #unanswered = 0
  #cancelTimer: () => void

  constructor(address: string, settings: LinkSettings, onClosed: () => void) {
    this.address = address
    this.#settings = settings
    this.#onClosed = onClosed
    this.#clientNonce = settings.random.bytes(32)
    this.#cancelTimer = settings.clock.after(settings.limits.handshakeMs, () => this.close())
    this.#connection = settings.transport.connect(address, {
      frame: (frame) => this.#receive(frame),
      drained: () => this.#flush(),
      closed: () => this.#closed(),
    })
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  get inFlight(): number {
    return this.#waiters.size
  }

  stats(): LinkStats {
    const { address } = this
    return { address, state: this.#state, inFlight: this.inFlight, buffered: this.#connection.buffered }
  }

  /** Sends a command. `done` is called once, or never after `forget`. @returns the id; undefined at the limit */
  call(request: Omit<Request, 'id'>, done: Waiter): number | undefined {
    if (this.#waiters.size >= this.#settings.limits.inFlight && !request.control) return undefined
    const id = this.#nextId()
    return this.#enqueue({ id, frame: encodeRequest({ ...request, id }) }, request.control, done)
  }

  /** Requests the list of actors that the node owns. */
  requestOwners(done: Waiter): number {
    const id = this.#nextId()
    return this.#enqueue({ id, frame: encodeOwners(id) }, true, done)
  }

  /** Drops a call whose result is no longer needed. */
  forget(id: number): void {
    this.#waiters.delete(id)
    this.#sent.delete(id)
  }

  close(): void {
    this.#connection.close()
    this.#closed()
  }

  #enqueue(queued: Queued, control: boolean, done: Waiter): number {
    const { id } = queued
    if (this.#state === 'closed') {
      done({ kind: 'unsent' })
      return id
    }
    this.#waiters.set(id, done)
    if (control) this.#control.push(queued)
    else this.#normal.push(queued)
    this.#flush()
    return id
  }

  #nextId(): number {
    this.#lastId = (this.#lastId + 1) >>> 0
    return this.#lastId
  }

  /** Sends control frames first. Frames that exceed the high-water mark stay queued and can still be dropped. */
  #flush(): void {
    if (this.#state !== 'open') return
    for (const queue of [this.#control, this.#normal]) {
      let taken = 0
      for (const { id, frame } of queue) {
        if (this.#connection.buffered >= this.#settings.limits.highWater) break
        taken += 1
        if (!this.#waiters.has(id)) continue
        this.#sent.add(id)
        this.#connection.send(frame)
      }
      if (taken > 0) queue.splice(0, taken)
    }
  }

  #receive(frame: Buffer): void {
    if (this.#state === 'closed') return
    this.#unanswered = 0
    try {
      if (this.#state === 'connecting') this.#greet(frame)
      else if (frame[0] === TYPE.reply) this.#answer(frame)
    } catch (error) {
      this.#settings.onError(error)
      this.close()
    }
  }

  #greet(frame: Buffer): void {
    const { secret } = this.#settings
    if (this.#serverNonce === undefined) {
      this.#serverNonce = Buffer.from(decodeHello(frame))
      this.#connection.send(encodeAuth(secret, this.#serverNonce, this.#clientNonce))
      return
    }
    checkWelcome(secret, this.#serverNonce, this.#clientNonce, frame)
    this.#state = 'open'
    this.#cancelTimer()
    this.#schedulePing()
    this.#flush()
  }

  #answer(frame: Buffer): void {
    const { id, reply } = decodeReply(frame)
    const waiter = this.#waiters.get(id)
    this.forget(id)
    waiter?.(reply)
  }

  #schedulePing(): void {
    const { clock, limits } = this.#settings
    this.#cancelTimer = clock.after(limits.pingMs, () => {
      if (this.#state !== 'open') return
      // Counted in pings, because a pause of this process is not silence of the peer.
      if (this.#unanswered * limits.pingMs >= limits.silenceMs) {
        this.close()
        return
      }
      this.#connection.send(PING)
      this.#unanswered += 1
      this.#schedulePing()
    })
  }

  #closed(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#cancelTimer()
    this.#onClosed()
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const [id, waiter] of waiters) waiter({ kind: this.#sent.has(id) ? 'lost' : 'unsent' })
    this.#sent.clear()
  }
}
