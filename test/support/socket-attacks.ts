import { once } from 'node:events'
import { WebSocket } from 'ws'

/**
 * Hostile clients of the sockets, for tests and soak runs. None needs a credential.
 */

/** A socket.io CONNECT packet without a token. */
export const CONNECT_PACKET = '40'
const SEPARATOR = '\u001e'

/** An engine.io WebSocket, with everything it received. */
export class EngineClient {
  readonly socket: WebSocket
  readonly received: string[] = []

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('message', (data: Buffer) => this.received.push(data.toString()))
  }

  /** Connects to 127.0.0.1 without authenticating. */
  static async open(port: number): Promise<EngineClient> {
    const client = new EngineClient(new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`))
    await once(client.socket, 'open')
    return client
  }

  get isClosed(): boolean {
    return this.socket.readyState === WebSocket.CLOSED
  }

  /** The number of refused CONNECTs. */
  get refusals(): number {
    return this.received.filter((packet) => packet.startsWith('44')).length
  }

  /** Sends a packet `times` times. */
  flood(packet: string, times: number): void {
    for (let sent = 0; sent < times; sent += 1) this.socket.send(packet)
  }
}

/**
 * Does a handshake by polling, then sends one POST with a packet `times` times. The server must allow polling.
 * @returns the URL of the session, which the caller can poll
 */
export async function floodByPolling(port: number, packet: string, times: number): Promise<string> {
  const address = `http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`
  const handshake = await (await fetch(address)).text()
  const { sid } = JSON.parse(handshake.slice(1)) as { sid: string }
  const session = `${address}&sid=${sid}`
  const body = Array.from({ length: times }, () => packet).join(SEPARATOR)
  await fetch(session, { method: 'POST', body }).catch(() => undefined)
  return session
}
