import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/**
 * Checks that a UDP port can be bound, and releases it. For 0 it picks a free port.
 * @returns the port
 * @throws Error if the port is in use
 */
export async function checkPort(host: string, port: number): Promise<number> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  try {
    const listening = once(socket, 'listening')
    socket.bind({ port, address: host, exclusive: true })
    await listening
    return socket.address().port
  } finally {
    await new Promise<void>((resolve) => {
      socket.close(() => resolve())
    })
  }
}
