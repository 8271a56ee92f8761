import { randomBytes } from 'node:crypto'
import { RtmpProtocolError } from './errors.ts'

const VERSION = 3
const PACKET_BYTES = 1536
/** Time, then zero or a version. The random bytes follow. */
const PREFIX_BYTES = 8

export interface HandshakeStep {
  /** Bytes to send now (C2); empty if there are none. */
  readonly reply: Buffer
  /** Bytes received after S2; they belong to the chunk stream. Null until the handshake is complete. */
  readonly rest: Buffer | null
}

/**
 * The client side of the simple handshake (RTMP 1.0, section 5.2). Platforms require the digest variant only from
 * players. S2 is not compared with C1, because some servers send other bytes. OBS does not compare it either.
 */
export class ClientHandshake {
  readonly #c1 = randomBytes(PACKET_BYTES)
  #received: Buffer = Buffer.alloc(0)
  #answered = false

  constructor() {
    this.#c1.fill(0, 0, PREFIX_BYTES)
  }

  /** Returns C0 and C1. */
  hello(): Buffer {
    return Buffer.concat([Buffer.of(VERSION), this.#c1])
  }

  /**
   * Reads bytes from the server.
   *
   * @throws RtmpProtocolError when the server does not speak RTMP.
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
