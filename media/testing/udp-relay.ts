import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** Network faults of a relay. They can be changed at any time. */
export interface NetworkFaults {
  /** Fraction of packets that are lost. */
  loss: number
  /** Fraction of packets that are delayed by `reorderMs`, and so overtaken by others. */
  reorder: number
  reorderMs: number
  /** Delay of every packet. */
  delayMs: number
  /** All packets are lost. */
  dark: boolean
}

export interface UdpRelay {
  readonly port: number
  readonly faults: NetworkFaults
  /** Packets from clients, and how many of them were lost. */
  readonly passed: { packets: number; lost: number }
  close(): Promise<void>
}

/** Starts a UDP relay on loopback that forwards packets between clients and the target, with faults in both directions. */
export async function startUdpRelay(target: number, faults: Partial<NetworkFaults> = {}): Promise<UdpRelay> {
  const current: NetworkFaults = { loss: 0, reorder: 0, reorderMs: 30, delayMs: 0, dark: false, ...faults }
  const passed = { packets: 0, lost: 0 }
  const random = generator(1)
  const upstreams = new Map<number, Socket>()
  const front = openSocket()
  let closed = false

  const pass = (send: () => void): boolean => {
    if (current.dark || random() < current.loss) return false
    const delay = current.delayMs + (random() < current.reorder ? current.reorderMs : 0)
    if (delay === 0) send()
    else setTimeout(() => closed || send(), delay)
    return true
  }
  const upstreamOf = (client: number): Socket => {
    const known = upstreams.get(client)
    if (known !== undefined) return known
    const socket = openSocket()
    upstreams.set(client, socket)
    // The first packets may be sent before the socket is bound. Node queues them.
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
    faults: current,
    passed,
    async close() {
      closed = true
      for (const socket of upstreams.values()) socket.close()
      front.close()
      await once(front, 'close')
    },
  }
}

/** Opens a socket with a large receive buffer, so that packets are not lost while this process is busy. */
function openSocket(): Socket {
  return createSocket({ type: 'udp4', recvBufferSize: 1024 * 1024 })
}

/** Replaces the port of the candidates in an SDP answer. */
export function throughPort(answer: string, port: number): string {
  return answer.replaceAll(/^(a=candidate:\S+ \d UDP \d+ \S+) \d+ /gm, `$1 ${port} `)
}

/** A reproducible source of random numbers from 0 to 1 (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
}
