import type { UserSocket } from './connected-users.ts'

/** The method used of the uWebSockets.js application, which `src/http` owns. */
interface Publisher {
  publish(topic: string, message: string): boolean
}

/** Separates namespace and room in the names of socket.io's topics. */
const SEPARATOR = '\u001F'

/**
 * Sends events to rooms. Each event is serialized once and published with one call to uWS. socket.io's own broadcast
 * searches each message for binary data and visits all sockets of the room to find polling ones (50 µs per message with
 * 500 sockets). This class keeps a set of polling sockets.
 */
export class RoomPublisher {
  readonly #app: Publisher
  readonly #polling = new Set<UserSocket>()

  /** @param app the uWebSockets.js application to which socket.io is attached */
  constructor(app: object) {
    this.#app = app as Publisher
  }

  /** Adds a connected socket, whether it uses WebSocket or polling. */
  join(socket: UserSocket): void {
    const { conn } = socket
    if (conn.transport.name === 'websocket') return
    this.#polling.add(socket)
    const forget = () => void this.#polling.delete(socket)
    conn.once('upgrade', forget)
    conn.once('close', forget)
  }

  /** @param message any JSON value */
  emit(room: string, name: string, message: unknown): void {
    // 2: an event of socket.io, in its default namespace; 4: a message of engine.io.
    const packet = `2${JSON.stringify([name, message])}`
    this.#app.publish(`/${SEPARATOR}${room}`, `4${packet}`)
    for (const { conn, rooms } of this.#polling) if (rooms.has(room)) conn.write(packet)
  }
}
