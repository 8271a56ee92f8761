import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/** The UDP port that would be bound for `port`, a free one for 0. @throws Error when it is taken */
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
