import { randomBytes } from 'node:crypto'
import { RtmpProtocolError } from './errors.ts'

const VERSION = 3
const PACKET_BYTES = 1536
/** Time and zero (or server version): what comes before the random bytes. */
const PREFIX_BYTES = 8

export interface HandshakeStep {
  /** What to send now; empty while the server has not sent enough. */
  readonly reply: Buffer
  /** What came behind S2 and belongs to the chunk stream; null while the handshake goes on. */
  readonly rest: Buffer | null
}

/**
 * The client's half of the simple handshake (RTMP 1.0, section 5.2). Platforms ask for the digest variant only of
 * players. S2 is awaited but not compared: servers exist that answer with bytes of their own, and OBS accepts them.
 */
export class ClientHandshake {
  readonly #c1 = randomBytes(PACKET_BYTES)
  #received: Buffer = Buffer.alloc(0)
  #answered = false

  constructor() {
    this.#c1.fill(0, 0, PREFIX_BYTES)
  }

  /** C0 and C1. */
  hello(): Buffer {
    return Buffer.concat([Buffer.of(VERSION), this.#c1])
  }

  /**
   * Takes bytes from the server.
   *
   * @throws RtmpProtocolError when the server speaks another protocol.
   */
  push(bytes: Buffer): HandshakeStep {
    this.#received = Buffer.concat([this.#received, bytes])
    if (this.#received.length > 0 && this.#received[0] !== VERSION) {
      throw new RtmpProtocolError('the server does not speak RTMP version 3')
    }
    let reply: Buffer = Buffer.alloc(0)
    if (!this.#answered && this.#received.length >= 1 + PACKET_BYTES) {
      this.#answered = true
      reply = Buffer.from(this.#received.subarray(1, 1 + PACKET_BYTES))
    }
    const end = 1 + 2 * PACKET_BYTES
    const done = this.#received.length >= end
    return { reply, rest: done ? this.#received.subarray(end) : null }
  }
}
