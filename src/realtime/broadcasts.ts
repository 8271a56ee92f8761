import type { UserSocket } from './people.ts'

/** What is used of a uWebSockets.js application here; `src/http` owns the real one. */
interface Publisher {
  publish(topic: string, message: string): boolean
}

/** Between namespace and room in the names of the topics to which socket.io subscribes its sockets. */
const SEPARATOR = '\u001F'

/**
 * Sends events to rooms: written once, as the text that every socket gets, and handed to uWS with one call. socket.io's
 * own broadcast searches each message for binary data, and walks over all sockets of the room to find those that poll
 * (50 µs a message for 500 of them); here those are known.
 */
export class Broadcasts {
  readonly #app: Publisher
  readonly #polling = new Set<UserSocket>()

  /** @param app the uWebSockets.js application to which socket.io is attached */
  constructor(app: object) {
    this.#app = app as Publisher
  }

  /** Takes in a socket that is connected, in whatever way. */
  join(socket: UserSocket): void {
    const { conn } = socket
    if (conn.transport.name === 'websocket') return
    this.#polling.add(socket)
    const forget = () => void this.#polling.delete(socket)
    conn.once('upgrade', forget)
    conn.once('close', forget)
  }

  /** @param message what JSON can say */
  emit(room: string, name: string, message: unknown): void {
    // 2: an event of socket.io, in its default namespace; 4: a message of engine.io.
    const packet = `2${JSON.stringify([name, message])}`
    this.#app.publish(`/${SEPARATOR}${room}`, `4${packet}`)
    for (const { conn, rooms } of this.#polling) if (rooms.has(room)) conn.write(packet)
  }
}
