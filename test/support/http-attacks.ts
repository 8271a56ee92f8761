import type { Socket } from 'node:net'
import { openConnection } from './raw-http.ts'

/**
 * Hostile HTTP clients, for tests and soak runs. Each opens its connections to 127.0.0.1 and leaves them open; `stop`
 * ends them. None needs a credential.
 */
export interface Attack {
  readonly connections: readonly AttackConnection[]
  /** Ends every connection and stops sending. */
  stop(): void
}

/** One connection of an attacker. */
export class AttackConnection {
  readonly socket: Socket
  readonly #received: Buffer[] = []

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.#received.push(chunk))
  }

  /** What has been read of the server's output. */
  get received(): string {
    return Buffer.concat(this.#received).toString('latin1')
  }

  /** The number of replies in what has been read. */
  get replies(): number {
    return this.received.split('HTTP/1.1 ').length - 1
  }
}

interface Origin {
  readonly port: number
  readonly connections: number
  /** The number of source addresses, from 127.0.0.1 up (Linux accepts all of 127.0.0.0/8); 1 when absent. */
  readonly addresses?: number
}

async function openMany({ addresses = 1, connections: count, port }: Origin): Promise<AttackConnection[]> {
  const connections: AttackConnection[] = []
  for (let opened = 0; opened < count; opened += 1) {
    connections.push(new AttackConnection(await openConnection(port, `127.0.0.${1 + (opened % addresses)}`)))
  }
  return connections
}

export interface SlowBodiesOptions extends Origin {
  /** A route that reads its body; `POST /api/auth/login` when absent. */
  readonly route?: string
  /** The Content-Length; 90,000 when absent. */
  readonly announced?: number
  /** The interval between bytes, in milliseconds; sends only the head when absent. */
  readonly everyMs?: number
}

/** Sends requests whose bodies arrive a byte at a time, or never. */
export async function slowBodies(options: SlowBodiesOptions): Promise<Attack> {
  const { announced = 90_000, everyMs, route = 'POST /api/auth/login' } = options
  const connections = await openMany(options)
  for (const { socket } of connections) {
    const head = `${route} HTTP/1.1\r\nHost: crier\r\nContent-Type: application/json`
    socket.write(`${head}\r\nContent-Length: ${announced}\r\n\r\n`)
  }
  const drip = () => {
    for (const { socket } of connections) if (!socket.closed) socket.write(' ')
  }
  const timer = everyMs === undefined ? undefined : setInterval(drip, everyMs)
  return {
    connections,
    stop: () => {
      clearInterval(timer)
      destroyAll(connections)
    },
  }
}

export interface SlowHeadersOptions extends Origin {
  /** Sent on each connection before the incomplete header. */
  readonly before?: string
  /** The interval between bytes, in milliseconds; sends only the beginning when absent. */
  readonly everyMs?: number
}

/** Sends requests whose headers arrive a byte at a time, or never. */
export async function slowHeaders({ before = '', everyMs, ...origin }: SlowHeadersOptions): Promise<Attack> {
  const connections = await openMany(origin)
  for (const { socket } of connections) {
    socket.on('error', () => undefined)
    socket.write(`${before}GET /api/health HTTP/1.1\r\nHost: crier\r\nX-Slow: `)
  }
  const drip = () => {
    for (const { socket } of connections) if (!socket.closed) socket.write('a')
  }
  const timer = everyMs === undefined ? undefined : setInterval(drip, everyMs)
  return {
    connections,
    stop: () => {
      clearInterval(timer)
      destroyAll(connections)
    },
  }
}

export interface UnreadPipelineOptions extends Origin {
  /** Requests that each connection sends at once. */
  readonly requests: number
  /** `GET /api/openapi.json` when absent. */
  readonly request?: string
}

/** Sends many requests on each connection and reads no reply until the socket is resumed. */
export async function unreadPipelines(options: UnreadPipelineOptions): Promise<Attack> {
  const { request = 'GET /api/openapi.json', requests } = options
  const connections = await openMany(options)
  for (const { socket } of connections) {
    socket.pause()
    socket.write(`${request} HTTP/1.1\r\nHost: crier\r\n\r\n`.repeat(requests))
  }
  return { connections, stop: () => destroyAll(connections) }
}

function destroyAll(connections: readonly AttackConnection[]): void {
  for (const { socket } of connections) socket.destroy()
}
