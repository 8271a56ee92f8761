import { RtmpProtocolError } from '../rtmp/errors.ts'
import { answerHandshake } from './engine.ts'

const VERSION = 3
const C0C1_BYTES = 1 + 1_536
const C2_BYTES = 1_536
const EMPTY = Buffer.alloc(0)

/** Bytes that a client sends for the handshake in all. */
export const HANDSHAKE_BYTES = C0C1_BYTES + C2_BYTES

/** The server's half of the handshake (RTMP 1.0, section 5.2), fed with bytes however they are split. */
export class ServerHandshake {
  readonly #write: (bytes: Buffer) => void
  #held: Buffer = EMPTY
  #answered = false

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write
  }

  /**
   * Takes the next bytes. Returns what lies behind C2 once it is whole, which may be nothing; null until then.
   *
   * @throws RtmpProtocolError when the peer is no RTMP client.
   */
  push(bytes: Buffer): Buffer | null {
    const missing = (this.#answered ? C2_BYTES : C0C1_BYTES) - this.#held.length
    this.#held = Buffer.concat([this.#held, bytes.subarray(0, missing)])
    if (!this.#answered && this.#held[0] !== VERSION) throw new RtmpProtocolError('not an RTMP client')
    if (bytes.length < missing) return null
    const held = this.#held
    const rest = bytes.subarray(missing)
    this.#held = EMPTY
    // C2 repeats what we sent; old clients get it wrong, and nothing depends on it.
    if (this.#answered) return rest
    this.#answered = true
    this.#write(answerHandshake(held.subarray(1)))
    return rest.length > 0 ? this.push(rest) : null
  }
}
