import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Reads how many sent bytes TCP has not acknowledged, from the kernel's connection table. Node has no API for it. Linux
 * only. A read takes some milliseconds on a large machine, so one read serves all sockets and callers read rarely.
 */
export class TcpTable {
  #reading: Promise<ReadonlyMap<string, number> | null> | null = null

  /**
   * Bytes that were sent and are not acknowledged, by connection. Null if the system has no such table. Calls during a
   * read share its result.
   */
  read(): Promise<ReadonlyMap<string, number> | null> {
    this.#reading ??= readTable().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }
}

/** The key of a socket in the table. Null when the socket is not connected. */
export function tableKey(socket: Socket): string | null {
  const { localAddress, localPort, remoteAddress, remotePort } = socket
  if (localAddress === undefined || localPort === undefined) return null
  if (remoteAddress === undefined || remotePort === undefined) return null
  return `${endpoint(localAddress, localPort)} ${endpoint(remoteAddress, remotePort)}`
}

async function readTable(): Promise<ReadonlyMap<string, number> | null> {
  if (process.platform !== 'linux') return null
  const tables = await Promise.allSettled([readFile('/proc/net/tcp', 'latin1'), readFile('/proc/net/tcp6', 'latin1')])
  const texts = tables.flatMap((table) => (table.status === 'fulfilled' ? [table.value] : []))
  if (texts.length === 0) return null
  const queues = new Map<string, number>()
  for (const line of texts.join('\n').split('\n')) {
    const [, key, queue] = /^\s*\d+: (\S+ \S+) \S+ ([0-9A-F]{8}):/.exec(line) ?? []
    if (key !== undefined && queue !== undefined) queues.set(key, Number.parseInt(queue, 16))
  }
  return queues
}

/** The kernel prints addresses as words in the machine's byte order, which is little-endian on all supported machines. */
function endpoint(address: string, port: number): string {
  const bytes = ipaddr.parse(address).toByteArray()
  let text = ''
  for (let word = 0; word < bytes.length; word += 4) {
    for (const byte of bytes.slice(word, word + 4).toReversed()) text += byte.toString(16).padStart(2, '0')
  }
  return `${text.toUpperCase()}:${port.toString(16).toUpperCase().padStart(4, '0')}`
}
