import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** What a relay does to what passes through; may be changed at any time. */
export interface LineFaults {
  /** Part of the packets that are lost. */
  loss: number
  /** Part of the packets that come late by `reorderMs`, and so behind others. */
  reorder: number
  reorderMs: number
  /** What every packet takes. */
  delayMs: number
  /** Nothing passes. */
  dark: boolean
}

export interface UdpRelay {
  readonly port: number
  readonly faults: LineFaults
  /** Packets from clients, and those of them that were lost. */
  readonly passed: { packets: number; lost: number }
  close(): Promise<void>
}

/** A bad line on the loopback: clients send to its port, and it sends on to the target, with faults in both directions. */
export async function startUdpRelay(target: number, faults: Partial<LineFaults> = {}): Promise<UdpRelay> {
  const line: LineFaults = { loss: 0, reorder: 0, reorderMs: 30, delayMs: 0, dark: false, ...faults }
  const passed = { packets: 0, lost: 0 }
  const random = generator(1)
  const upstreams = new Map<number, Socket>()
  const front = openSocket()
  let closed = false

  const pass = (send: () => void): boolean => {
    if (line.dark || random() < line.loss) return false
    const delay = line.delayMs + (random() < line.reorder ? line.reorderMs : 0)
    if (delay === 0) send()
    else setTimeout(() => closed || send(), delay)
    return true
  }
  const upstreamOf = (client: number): Socket => {
    const known = upstreams.get(client)
    if (known !== undefined) return known
    const socket = openSocket()
    upstreams.set(client, socket)
    // The handshake's packets may come before the socket is bound: they are queued.
    socket.on('message', (bytes) => pass(() => front.send(bytes, client, '127.0.0.1')))
    return socket
  }
  front.on('message', (bytes, { port }) => {
    const upstream = upstreamOf(port)
    passed.packets += 1
    if (!pass(() => upstream.send(bytes, target, '127.0.0.1'))) passed.lost += 1
  })
  front.bind(0, '127.0.0.1')
  await once(front, 'listening')
  return {
    port: front.address().port,
    faults: line,
    passed,
    async close() {
      closed = true
      for (const socket of upstreams.values()) socket.close()
      front.close()
      await once(front, 'close')
    },
  }
}

/** With room for what comes while this process is busy, as far as the system allows: only faults lose packets. */
function openSocket(): Socket {
  return createSocket({ type: 'udp4', recvBufferSize: 1024 * 1024 })
}

/** Sends a client to another port than the one in an answer. */
export function throughPort(answer: string, port: number): string {
  return answer.replaceAll(/^(a=candidate:\S+ \d UDP \d+ \S+) \d+ /gm, `$1 ${port} `)
}

/** The same numbers from 0 to 1 every time (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
}
