import type { Clock } from '../core/clock.ts'
import { SOCKET_LIMITS } from './limits.ts'
import type { UserSocket } from './connected-users.ts'

/**
 * Detects clients that do not read. Neither engine.io nor uWS does, so pending data would take memory up to the hard
 * limit.
 */
export class StalledReaders {
  readonly #clock: Clock
  readonly #behindSince = new WeakMap<UserSocket, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  isStalled(socket: UserSocket): boolean {
    if (!isBehind(socket)) {
      this.#behindSince.delete(socket)
      return false
    }
    const now = this.#clock.monotonic()
    const since = this.#behindSince.get(socket) ?? now
    this.#behindSince.set(socket, since)
    return now - since >= SOCKET_LIMITS.stalledMs
  }
}

function isBehind(socket: UserSocket): boolean {
  const { transport, writeBuffer } = socket.conn as unknown as {
    transport: { socket?: { getBufferedAmount(): number } }
    writeBuffer: readonly unknown[]
  }
  if (writeBuffer.length > SOCKET_LIMITS.waitingMessages) return true
  try {
    return (transport.socket?.getBufferedAmount() ?? 0) > SOCKET_LIMITS.waitingBytes
  } catch {
    // The connection has just closed, and uWS throws on access.
    return false
  }
}
