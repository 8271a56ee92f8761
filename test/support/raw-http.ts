import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Connections to the server's port as bytes, for what no HTTP client would send. */

/**
 * A connection whose errors are ignored: the server may end it at any time.
 * @param localAddress the address that it comes from
 */
export async function openConnection(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  return socket
}

/** Sends bytes and returns what comes until the server closes the connection. */
export async function exchangeBytes(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = await openConnection(port)
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  socket.write(bytes)
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(received).toString()
}
