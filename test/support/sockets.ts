import { io, type Socket } from 'socket.io-client'
import type { App } from './app.ts'
import { waitFor } from './wait.ts'

/** A socket, with the events it received in order. */
export interface Listening {
  readonly socket: Socket
  // oxlint-disable-next-line typescript/no-explicit-any -- messages have different shapes
  readonly events: { readonly name: string; readonly data: any }[]
}

/** The sockets of a test file, closed together. */
export class Sockets {
  readonly #app: () => Pick<App, 'url'>
  readonly #open: Socket[] = []

  constructor(app: () => Pick<App, 'url'>) {
    this.#app = app
  }

  /** Starts to connect with any credential. */
  listen(auth: object, options: object = {}, url = this.#app().url): Listening {
    const socket = io(url, { auth, forceNew: true, reconnection: false, transports: ['websocket'], ...options })
    this.#open.push(socket)
    const events: { name: string; data: unknown }[] = []
    socket.onAny((name: string, data: unknown) => events.push({ name, data }))
    return { socket, events }
  }

  /** @param token an access token or an API key */
  async connect(token: string, options: object = {}, url?: string): Promise<Listening> {
    const listening = this.listen({ token }, options, url)
    await waitFor(() => listening.socket.connected, { what: 'a socket' })
    return listening
  }

  /** The error code with which a connection is refused. */
  async refused(auth: object, options: object = {}): Promise<string> {
    const { socket } = this.listen(auth, options)
    const error = await new Promise<Error & { data?: { code: string } }>((resolve) =>
      socket.once('connect_error', resolve),
    )
    return error.data?.code ?? error.message
  }

  end(): void {
    for (const socket of this.#open.splice(0)) socket.disconnect()
  }
}
