import { RtmpProtocolError } from '../rtmp/errors.ts'
import { answerHandshake } from './engine.ts'

const VERSION = 3
const C0C1_BYTES = 1 + 1_536
const C2_BYTES = 1_536
const EMPTY = Buffer.alloc(0)

/** Bytes that a client sends in the handshake: C0, C1 and C2. */
export const HANDSHAKE_BYTES = C0C1_BYTES + C2_BYTES

/** The server side of the handshake (RTMP 1.0, section 5.2). Input may be split at any byte. */
export class ServerHandshake {
  readonly #write: (bytes: Buffer) => void
  #buffered: Buffer = EMPTY
  #answered = false

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write
  }

  /**
   * Reads the next bytes. Returns the bytes after C2, which may be none, or null until C2 is complete.
   *
   * @throws RtmpProtocolError when the peer is not an RTMP client.
   */
  push(bytes: Buffer): Buffer | null {
    const missing = (this.#answered ? C2_BYTES : C0C1_BYTES) - this.#buffered.length
    this.#buffered = Buffer.concat([this.#buffered, bytes.subarray(0, missing)])
    if (!this.#answered && this.#buffered[0] !== VERSION) throw new RtmpProtocolError('not an RTMP client')
    if (bytes.length < missing) return null
    const packet = this.#buffered
    const rest = bytes.subarray(missing)
    this.#buffered = EMPTY
    // C2 should repeat S1. It is not compared, because some old clients send other bytes.
    if (this.#answered) return rest
    this.#answered = true
    this.#write(answerHandshake(packet.subarray(1)))
    return rest.length > 0 ? this.push(rest) : null
  }
}
