import type { NetworkConnection } from './actors-namespaces.ts'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A TCP relay whose connections can be cut. It then stops forwarding data without closing them, like a broken switch. */
export class Proxy implements NetworkConnection {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false

  private constructor(target: () => { host: string; port: number }) {
    this.#server = createServer((near) => {
      const far = connect(target())
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one)
        one.setNoDelay(true)
        if (this.#isCut) one.pause()
        one.on('data', (chunk: Buffer) => other.write(chunk))
        one.on('error', () => undefined)
        one.on('close', () => {
          this.#sockets.delete(one)
          if (!this.#isCut) other.destroy()
        })
      }
    })
  }

  static async start(target: () => { host: string; port: number }, host = '127.0.0.1'): Promise<Proxy> {
    const proxy = new Proxy(target)
    await new Promise<void>((resolve) => void proxy.#server.listen(0, host, resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Forwards the delayed data, as TCP does after a real partition. */
  restore(): void {
    this.#isCut = false
    for (const socket of this.#sockets) socket.resume()
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}
